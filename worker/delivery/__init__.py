"""The path from a due delivery to a recorded attempt: claiming, limits, signing, sending,
recording.

Imports `http` and `scheduler`.
"""
