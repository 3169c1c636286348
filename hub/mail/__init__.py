"""Mails about alerts: their texts and links, and the page that unsubscribes.

It imports the groups of operations, whose payloads the texts are made of, and the dashboard's
templates.
"""
