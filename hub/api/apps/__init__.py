"""Apps that act for themselves: apps, their installations and the tokens of these.

Imports `ingest` and what is below it, and the serializers of other domains.
"""
