"""Pull hooks: the leases under which receivers fetch deliveries, and who fetches them.

It imports `delivery` and what is below it.
"""
