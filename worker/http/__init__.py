"""The HTTP client of the deliveries, and the guard over the addresses that it may dial.

Imports nothing else of the worker.
"""
