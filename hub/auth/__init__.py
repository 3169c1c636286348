"""Authentication and authorization: credentials, access rules, passwords, rate limits.

Imports `http` and `settings`.
"""
