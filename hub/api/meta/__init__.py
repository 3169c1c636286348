"""Operations and serializers of the API itself, and rate limits.

Imports `rest` and what is below it, and the serializers of other domains.
"""
