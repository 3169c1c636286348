"""Tables that name one thing of every domain: what expires, and what has a present state.

Imports every domain of the store.
"""
