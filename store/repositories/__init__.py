"""Repositories and their parts: roles, refs, licenses, invitations, limits.

Imports `delivery` and the packages below it.
"""
