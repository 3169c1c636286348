"""Operations and serializers of agent variables of organizations.

Imports `rest` and what is below it, and the serializers of other domains.
"""
