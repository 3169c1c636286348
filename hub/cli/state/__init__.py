"""`tocsin load`: state documents, their models, and their application to the store.

Imports `console` and `service`.
"""
