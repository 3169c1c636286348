"""The HTTP server: its protocol, and its limits on headers, connections and time.

Imports no other package of the command line.
"""
