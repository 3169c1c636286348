"""Operations and serializers of users, organizations, apps, grants and email addresses.

Imports `rest` and what is below it, and the serializers of other domains.
"""
