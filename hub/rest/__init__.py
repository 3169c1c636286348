"""The framework that every operation stands on: declaration, pipeline, validation, paging.

Imports `http` and `auth`.
"""
