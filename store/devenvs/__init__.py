"""Development environments: their machines, locations, secrets and keys.

Imports `repositories`, `agents` and what is below them.
"""
