"""The scheduled jobs, one a module: expiry, reports, replays, projection, pruning.

Imports `mail` and the packages below it.
"""
