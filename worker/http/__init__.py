"""The HTTP client, and the guard that decides which addresses it may dial.

Imports nothing else of the worker.
"""
