"""Hooks: who receives which events, and how they are sent and signed.

Imports `endpoint_access` and the packages below it.
"""
