"""Workflow runs, their jobs, and concurrency groups.

Imports `repositories` and what is below it.
"""
