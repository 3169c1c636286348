"""Scheduled jobs and the long runs that a worker carries on a batch at a time.

Imports `database`.
"""
