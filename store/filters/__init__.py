"""Filters: conditions on an event's payload, written as JSON operators and compiled to functions.

Imports only the base modules.
"""
