"""Commands for hooks, events and deliveries.

Imports `console` and `service`.
"""
