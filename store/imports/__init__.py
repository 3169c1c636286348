"""Source imports: what was asked for, how far each is, what was found.

Imports `repositories` and what is below it.
"""
