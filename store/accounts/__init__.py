"""Users, organizations, teams, apps, and all their credentials.

Imports `database`, `jobs` and `audit`.
"""
