"""The framework beneath every API operation: declaration, pipeline, validation, paging.

Imports `http` and `auth`.
"""
