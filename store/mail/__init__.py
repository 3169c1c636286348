"""Alerts by mail: who gets them, which wait to be joined, and the mails that are sent.

It builds on alerts, hooks and accounts.
"""
