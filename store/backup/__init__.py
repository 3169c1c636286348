"""Backups of a SQLite installation, their restoration, and new keys for stored secrets.

Imports `database` and the packages below it.
"""
