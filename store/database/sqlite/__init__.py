"""The embedded engine: one SQLite file.

Only `database.opening` and tools for the file import it.
"""
