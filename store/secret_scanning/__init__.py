"""Patterns of secrets, and platforms' alerts about them.

Imports `repositories`, `enterprises` and the packages below them.
"""
