"""Operations and serializers of development environments.

Imports `rest` and what is below it, and the serializers of other domains.
"""
