"""Commands to try tocsin with: `demo` and `listen`.

Imports `traffic` and the packages below it.
"""
