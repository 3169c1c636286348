"""Who asks and what they may do: credentials, access rules, passwords, rate limits.

Imports `http`.
"""
