"""Hooks: who receives which events, how they are sent and signed, and how healthy a hook is.

Imports `endpoint_access` and the packages below it.
"""
