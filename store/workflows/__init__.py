"""Workflow runs, their jobs, and concurrency groups.

Imports `checks` and the packages below it.
"""
