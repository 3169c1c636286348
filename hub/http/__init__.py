"""HTTP without the API: requests' bodies, responses, routing, media types, errors.

Imports nothing else of the hub.
"""
