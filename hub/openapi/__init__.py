"""The OpenAPI document, made from the declarations of the operations alone.

Imports `operations` and what is below it.
"""
