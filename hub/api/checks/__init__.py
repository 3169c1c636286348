"""Operations and serializers of check runs, check suites and commit statuses.

Imports `rest` and what is below it, and the serializers of other domains.
"""
