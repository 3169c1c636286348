"""The framework beneath every API operation: declaration, pipeline, validation, paging.

Imports `auth` and what is below it.
"""
