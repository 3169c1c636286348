"""Check runs and check suites.

Imports `repositories` and the packages below it.
"""
