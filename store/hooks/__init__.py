"""Hooks: who receives which events, how they are sent and signed, and how healthy a hook is.

Imports `accounts`, `database`, `filters`, `formats` and the base modules.
"""
