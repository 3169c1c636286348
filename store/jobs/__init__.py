"""Scheduled jobs, and long runs that a worker does in steps.

Imports `database` and the packages below it.
"""
