"""Operations and serializers of patterns of secrets.

Imports `rest` and what is below it, and the serializers of other domains.
"""
