"""Backups of a SQLite installation, their restoration, and new keys for stored secrets.

Imports `crypto`, `database`, `audit` and `pg_migration`.
"""
