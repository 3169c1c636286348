"""Encryption at rest: the key file, and the vault that seals secrets with its keys.

Imports `clock`, `errors` and `settings` alone.
"""
