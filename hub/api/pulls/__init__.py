"""Operations and serializers of pull requests, their reviews, and comments on their lines.

Imports `rest` and what is below it, and the serializers of other domains.
"""
