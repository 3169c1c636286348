"""Issues, pull requests, labels, milestones, comments, fields, and timeline events.

Imports `repositories` and the packages below it.
"""
