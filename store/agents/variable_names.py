"""What variables and secrets may be called: the same for all that become environment variables."""

import re

from store.errors import Invalid

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST = 255
# Whoever runs agents and environments sets those itself.
RESERVED = "GITHUB_"
RULES = (
    f"1 to {LONGEST} letters, digits or '_', not beginning with a digit or with {RESERVED}, "
    "whatever the case"
)


def checked(name: str, resource: str, field: str = "name") -> str:
    """The name in upper case, as which it is known. Invalid, with the field and the resource of
    the API, for one that cannot be.
    """
    known = name.upper()
    if not NAME.fullmatch(name) or len(name) > LONGEST or known.startswith(RESERVED):
        raise Invalid(f"{name[:LONGEST]!r} is no name: {RULES}", field=field, resource=resource)
    return known
