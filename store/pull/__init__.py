"""Pull hooks: the leases under which receivers fetch deliveries, and who fetches them.

Imports `delivery` and the packages below it.
"""
