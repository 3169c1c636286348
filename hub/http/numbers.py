"""Whole numbers in texts that come from outside."""

DIGITS = 18
MOST = 10**DIGITS
"""What stands for every greater number; it fits into a column of any engine."""


def natural(text: str) -> int | None:
    """The whole number that these decimal digits are, at most MOST; None for any other text."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= DIGITS else MOST
