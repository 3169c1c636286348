"""Operations and serializers of deployment and storage records.

Imports `rest` and what is below it, and the serializers of other domains.
"""
