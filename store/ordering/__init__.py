"""The order of deliveries in ordered hooks: their keys, places and turns, and stalled keys.

Imports `apps` and the packages below it. The deliveries themselves are in `store.delivery`.
"""
