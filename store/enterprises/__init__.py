"""Enterprises and their teams.

Imports `repositories` and the packages below it.
"""
