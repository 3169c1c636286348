"""Trends of hooks: success, latency and status codes over time.

Imports the dashboard's shared parts, and no page.
"""
