"""Modules with a part for each domain: expiring objects, snapshots of the state, and the removal
of accounts.

Imports every domain: `imports` and the packages below it.
"""
