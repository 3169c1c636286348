"""Artifacts, and the records of their deployments and storage.

Imports `repositories` and the packages below it.
"""
