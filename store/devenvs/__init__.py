"""Development environments: their machines, locations, secrets and keys.

Imports `repositories`, `agents` and the packages below them.
"""
