"""The HTTP server: its protocol, and the bounds on heads, connections and time.

Imports no other package of the command line.
"""
