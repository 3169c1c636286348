"""Enterprises and their teams.

Imports `accounts` and the packages below it.
"""
