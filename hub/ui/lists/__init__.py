"""The parts that lists share: filters, order, pages, the number of matches, and saved views.

Imports the dashboard's shared parts, and no page.
"""
