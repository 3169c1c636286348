"""The reference of the API: its pages in the dashboard and outside of it.

Imports the dashboard's shared parts.
"""
