"""Operations and serializers of source imports.

Imports `rest` and what is below it, and the serializers of other domains.
"""
