"""Migration of a running installation from SQLite to PostgreSQL.

Imports `database` and the packages below it.
"""
