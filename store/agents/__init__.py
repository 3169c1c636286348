"""Variables that organizations give to agents.

Imports `repositories` and what is below it.
"""
