"""The HTTP client, and the guard that decides which addresses it may dial.

Imports no other package of the worker.
"""
