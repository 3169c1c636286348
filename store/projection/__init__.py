"""Projection of platforms' payloads onto the state, event by event, after the deliveries.

Imports every domain: `imports` and the packages below it.
"""
