"""Requests that fetch deliveries, and that wait until there are some.

Imports `http`, and nothing of `rest`.
"""
