"""Check runs and check suites.

Imports `repositories` and what is below it.
"""
