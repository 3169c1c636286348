"""The work of WebSub beside deliveries: verification of intent, and fetching topics.

Imports `http`.
"""
