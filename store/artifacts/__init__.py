"""Artifacts, and where they are deployed and stored.

Imports `repositories` and what is below it.
"""
