"""The access of deliveries to their endpoints, prepared when a hook is loaded.

Imports the HTTP client and the store.
"""
