"""The API's operations and their serializers, one package for each domain.

Imports `ingest` and what is below it. A domain uses only the serializers of other domains.
"""
