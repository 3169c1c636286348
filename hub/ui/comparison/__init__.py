"""The comparison of an attempt with the one before it.

Imports the dashboard's shared parts, and no page.
"""
