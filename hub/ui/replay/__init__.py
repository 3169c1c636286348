"""The selections of the replay form: what they mean, and how many deliveries they have.

Imports the dashboard's shared parts, and no page.
"""
