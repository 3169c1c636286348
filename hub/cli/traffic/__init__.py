"""Commands for hooks, events and deliveries.

Imports `operate` and the packages below it.
"""
