"""The sender processes: they sign and send deliveries, so that the worker uses more than one core.

Imports `signing` and the packages below it.
"""
