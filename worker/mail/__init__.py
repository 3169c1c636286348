"""Sending mail with SMTP. It needs the extra `mail`.

Imports no other package of the worker.
"""
