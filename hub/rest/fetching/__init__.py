"""Requests that fetch deliveries, and that wait until there are some.

It imports nothing of `rest`.
"""
