"""Hooks, events, deliveries, attempts and WebSub: one aggregate, whose modules import each other.

Imports `monitoring` and the packages below it.
"""
