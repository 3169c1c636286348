"""Events, deliveries, attempts and WebSub: one aggregate, whose modules import each other.

Imports `ordering` and the packages below it.
"""
