"""How people get into the dashboard and out of it: with a token, or with an OpenID provider.

Imports `openid`, and all of the dashboard but the routes.
"""
