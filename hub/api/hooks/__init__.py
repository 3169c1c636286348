"""Operations and serializers of webhooks and their deliveries.

Imports `ingest` and what is below it, and the serializers of other domains.
"""
