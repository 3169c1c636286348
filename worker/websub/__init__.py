"""The work of WebSub beside deliveries: verification of intent, and fetching topics.

Imports `delivery` and what is below it.
"""
