"""Tables with an entry for each domain: expiring objects, and snapshots of the state.

Imports every domain of the store.
"""
