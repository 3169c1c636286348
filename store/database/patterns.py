"""Patterns for LIKE."""


def containing(part: str) -> str:
    """Return the pattern, with the escape character !, of texts in lower case that have a part."""
    escaped = part.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
