"""Enterprises and their teams.

Imports `repositories` and what is below it.
"""
