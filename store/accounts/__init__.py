"""Users, organizations, teams, apps, and every credential of theirs.

Imports `database`, `jobs` and `audit`.
"""
