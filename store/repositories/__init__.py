"""Repositories, and what belongs to one: roles, refs, licenses, invitations, limits.

Imports `delivery` and what is below it.
"""
