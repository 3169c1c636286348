"""The sections of a state document, one module each.

Imports `state.base` and `state.changes`.
"""
