"""The API's operations and their serializers, one package for each domain.

A domain imports `rest` and what is below it, and the serializers of other domains.
"""
