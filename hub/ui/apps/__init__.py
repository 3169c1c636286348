"""Apps in the dashboard.

Imports the serializers of `api`, and the dashboard's shared parts.
"""
