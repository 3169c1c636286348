"""Apps that act for themselves: their keys, their installations and the tokens of these.

Imports `accounts`, `database` and the base modules.
"""
