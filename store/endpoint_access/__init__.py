"""The ways to reach endpoints that are protected: static headers, certificates and tokens.

Validation and the separation of secret values. Imports no other package of the store.
"""
