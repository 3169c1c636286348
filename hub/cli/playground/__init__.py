"""Commands to try tocsin with: `demo` and `listen`.

Imports `console` and `service`.
"""
