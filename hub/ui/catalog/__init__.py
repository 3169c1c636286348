"""The catalogue of events: examples of their payloads.

Imports `openapi` and what is below it, and no page.
"""
