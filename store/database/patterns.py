"""Patterns for LIKE."""


def containing(part: str) -> str:
    """Return a pattern for lower-case texts that contain `part`. The escape character is !."""
    escaped = part.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
