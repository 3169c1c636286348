"""The scheduled jobs, one a module: expiry, reports, replays, projection, pruning.

Imports every other package of the worker.
"""
