"""Formats of deliveries: the body and the headers that a receiver gets for an event.

Imports no other package of the store.
"""
