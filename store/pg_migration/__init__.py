"""Moves an installation from SQLite to PostgreSQL while it runs.

Imports `database` and what is below it.
"""
