"""Turns the payloads of platforms into state, event by event, behind the deliveries.

Imports every domain of the store.
"""
