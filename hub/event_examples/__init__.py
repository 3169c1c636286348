"""Examples of platform events, with every member that receivers read.

Imports `api` and what is below it.
"""
