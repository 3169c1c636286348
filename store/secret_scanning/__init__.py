"""Patterns of secrets, and the alerts that platforms report of them.

Imports `repositories`, `enterprises` and what is below them.
"""
