"""Filters: conditions on an event's payload, written as JSON operators and compiled to functions.

Imports no other package of the store.
"""
