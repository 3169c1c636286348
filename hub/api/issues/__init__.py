"""Operations and serializers of issues, pull requests, their comments, events and fields.

Imports `rest` and what is below it, and the serializers of other domains.
"""
