"""The audit log: who changed what, in a chain of digests, and the check of that chain.

Imports `database`.
"""
