"""Jinja as the dashboard uses it.

Imports Jinja alone. Only a process that shows pages imports it.
"""
