"""The order of deliveries in ordered hooks: their keys, places and turns, and stalled keys.

May import hooks and what is below it. The deliveries themselves are in `store.delivery`.
"""
