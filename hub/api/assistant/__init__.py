"""Operations and serializers of seats, usage and its reports.

Imports `ingest` and what is below it, and the serializers of other domains.
"""
