"""The dashboard's pages, one module each.

A page imports the dashboard's shared parts, never another page.
"""
