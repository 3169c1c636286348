"""The administrators' interface to a process: health, metrics, and their authentication.

Imports `rest` and what is below it.
"""
