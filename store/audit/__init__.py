"""The audit log: a record of all changes in a chain of digests, and the check of that chain.

Imports `database` and the packages below it.
"""
