"""Issues, pull requests, labels, milestones, comments, fields, and the events on timelines.

Imports `repositories` and what is below it.
"""
