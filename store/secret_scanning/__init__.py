"""Patterns of secrets, and platforms' alerts about them.

Imports `enterprises` and the packages below it.
"""
