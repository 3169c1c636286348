"""Source imports: requests, their progress, and their results.

Imports `jobs` and the packages below it.
"""
