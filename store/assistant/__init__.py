"""The coding assistant: seats, usage, and reports.

Imports `repositories`, `enterprises` and the packages below them.
"""
