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


def escape(text: str) -> str:
    """Return a pattern for this text alone. The escape character is !."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _anywhere(part: str) -> str:
    return f"%{escape(part)}%"
