"""Variables that organizations set for agents.

Imports `repositories` and the packages below it.
"""
