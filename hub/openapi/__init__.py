"""The OpenAPI document, made from the declarations of the operations alone.

Imports `rest`, and the list of operations.
"""
