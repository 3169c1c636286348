"""Versions of the API: which there are, and what each has."""

NEWEST = "2026-03-10"
OLDEST = "2022-11-28"
VERSIONS = (NEWEST, OLDEST)
DEFAULT = OLDEST
"""Clients that name no version are those written before there was a second one."""
