"""Sending mail with SMTP. It needs the extra `mail`.

Imports `http`.
"""
