"""The rules for names of variables and secrets that become environment variables."""

import re

from store.errors import Invalid

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST = 255
# The system that runs agents sets variables with this prefix itself.
RESERVED = "GITHUB_"
RULES = (
    f"1 to {LONGEST} letters, digits or '_', not beginning with a digit or with {RESERVED}, "
    "whatever the case"
)


def checked(name: str, resource: str, field: str = "name") -> str:
    """Return the name in upper case. Raises Invalid for a bad one.

    `field` and `resource` are the API's terms for the error.
    """
    known = name.upper()
    if not NAME.fullmatch(name) or len(name) > LONGEST or known.startswith(RESERVED):
        raise Invalid(f"{name[:LONGEST]!r} is no name: {RULES}", field=field, resource=resource)
    return known
