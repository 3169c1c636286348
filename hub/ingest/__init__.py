"""The endpoints that accept events (with a token, signed, or in batches), and `POST /hub`.

Imports `rest` and what is below it.
"""
