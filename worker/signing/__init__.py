"""The signatures of deliveries: the signers, the headers, and the overlap of two secrets.

Imports nothing else of the worker.
"""
