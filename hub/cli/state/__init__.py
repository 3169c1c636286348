"""`tocsin load`: state documents, their models, and their application to the store.

Imports `traffic` and the packages below it.
"""
