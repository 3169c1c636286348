"""The form of a hook: its fields, their validation as in the API, and the errors beside them.

Imports `api` and what is below it, and no page.
"""
