"""The search of every page, for ids, repositories and endpoints, and the list of rejected events.

Imports the dashboard's shared parts.
"""
