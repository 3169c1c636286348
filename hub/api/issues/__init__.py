"""Operations and serializers of issues, their comments, events, labels and fields.

Imports `rest` and what is below it, and the serializers of other domains.
"""
