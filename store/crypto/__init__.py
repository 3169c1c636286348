"""Encryption at rest: the key file, and the vault that encrypts secrets with its keys.

Imports no other package of the store.
"""
