"""Operations and serializers of workflow runs and concurrency groups.

Imports `rest` and what is below it, and the serializers of other domains.
"""
