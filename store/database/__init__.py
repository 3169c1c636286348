"""Connections, statements, the one writer and the migrations, for both engines.

Imports `crypto`.
"""
