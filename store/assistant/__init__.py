"""The coding assistant: seats, usage, and the reports made of it.

Imports `repositories`, `enterprises` and what is below them.
"""
