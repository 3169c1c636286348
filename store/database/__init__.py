"""Connections, statements, the writer and the migrations, for both engines.

Imports `crypto` and the packages below it.
"""
