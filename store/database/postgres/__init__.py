"""The engine for several machines: PostgreSQL.

Only `database.opening` and tools import it.
"""
