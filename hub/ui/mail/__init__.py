"""The pages about alerts by mail: the mails, a test message, and who gets mail about a hook.

Imports the serializers of `api`, and the dashboard's shared parts.
"""
