"""The access of deliveries to their endpoints, prepared when a hook is loaded.

Imports `http`.
"""
