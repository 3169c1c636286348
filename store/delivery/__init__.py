"""Events, deliveries, attempts and WebSub: one aggregate, whose modules import each other.

Imports `hooks` and the packages below it.
"""
