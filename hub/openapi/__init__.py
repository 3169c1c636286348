"""The OpenAPI document and the pages made of it, from the declarations alone.

Imports `rest`, and the list of operations.
"""
