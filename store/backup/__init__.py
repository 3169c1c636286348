"""Backups of a SQLite installation, their restoration, and new keys for stored secrets.

Imports `database` and what is below it.
"""
