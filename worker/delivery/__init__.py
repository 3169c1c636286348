"""The path from a due delivery to a recorded attempt: claiming, limits, signing, sending,
recording.

Imports `endpoint_access` and the packages below it.
"""
