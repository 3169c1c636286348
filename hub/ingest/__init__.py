"""Where events come in: with a token, signed by a source, or in batches; and `POST /hub`.

Imports `rest` and what is below it.
"""
