"""The signatures of deliveries: the signers, the headers, and the overlap of two secrets.

Imports no other package of the worker.
"""
