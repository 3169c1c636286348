"""The pending deliveries of a hook: why they wait, when each is tried, and a retry at once.

Imports the dashboard's pages and shared parts.
"""
