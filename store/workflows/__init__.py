"""Workflow runs, their jobs, and concurrency groups.

Imports `repositories` and the packages below it.
"""
