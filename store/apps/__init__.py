"""Apps that act for themselves: their keys, their installations and the tokens of these.

Imports `hooks` and the packages below it.
"""
