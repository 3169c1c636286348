"""Operations and serializers of enterprises, their teams, and teams of organizations.

Imports `rest` and what is below it, and the serializers of other domains.
"""
