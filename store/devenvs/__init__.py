"""Development environments: their machines, locations, secrets and keys.

Imports `agents` and the packages below it.
"""
