"""Mails about alerts: their texts and links, and the page that unsubscribes.

Imports `ui` and what is below it: the texts use the serializers of `api` and the dashboard's
templates.
"""
