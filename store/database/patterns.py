"""Patterns for LIKE."""

import re

LETTER = re.compile("[A-Z]")


def plain_lower(text: str) -> str:
    """Return a text with its ASCII letters in lower case: some databases know no other ones."""
    return LETTER.sub(lambda found: found[0].lower(), text)


def containing(part: str) -> str:
    """Return a pattern for lower-case texts that contain `part`. The escape character is !."""
    return _anywhere(part.lower())


def containing_plain(part: str) -> str:
    """Return a pattern like `containing` for a database that knows ASCII letters only."""
    return _anywhere(plain_lower(part))


def _anywhere(part: str) -> str:
    escaped = part.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
