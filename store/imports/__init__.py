"""Source imports: requests, their progress, and their results.

Imports `repositories` and the packages below it.
"""
