"""Alerts by mail: who gets them, which wait to be joined, and the mails that are sent.

Imports `alerts` and the packages below it.
"""
