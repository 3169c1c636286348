"""HTTP apart from the API: request bodies, responses, routing, media types, errors.

Imports nothing else from the hub.
"""
