"""`tocsin load`: state documents, their models, and how they are applied.

Imports `console` and `service`.
"""
