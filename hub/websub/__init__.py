"""The WebSub hub and its topics.

Imports `ingest` and what is below it.
"""
