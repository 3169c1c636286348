"""The coding assistant: seats, usage, and reports.

Imports `enterprises` and the packages below it.
"""
