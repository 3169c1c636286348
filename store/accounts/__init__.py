"""Users, organizations, teams, apps, and all their credentials.

Imports `audit` and the packages below it.
"""
