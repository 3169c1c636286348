"""The users here and the people whom OpenID Connect providers know.

Imports `accounts` and the packages below it.
"""
