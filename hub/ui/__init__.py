"""The dashboard: pages rendered on the server, which load nothing from other sites.

Imports `openid` and what is below it.
"""
