"""Parsing of whole numbers in untrusted text."""

DIGITS = 18
MOST = 10**DIGITS
"""Replaces every greater number. It fits into a column of any database engine."""


def natural(text: str) -> int | None:
    """Return the number that these decimal digits mean, at most MOST; None for any other text."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= DIGITS else MOST
