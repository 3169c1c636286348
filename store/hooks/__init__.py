"""Hooks: their URLs, events, secrets, keys and delivery options.

Imports `endpoint_access` and the packages below it.
"""
