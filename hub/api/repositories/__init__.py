"""Operations and serializers of repositories: branches, people, licenses, limits, rule suites.

Imports `rest` and what is below it, and the serializers of other domains.
"""
