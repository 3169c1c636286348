"""Messages with names that are similar to an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches


def similar_names(name: str, known: Iterable[str], most: int = 3) -> str:
    """Return up to `most` known names that are similar, as `'push' or 'public'`, or ""."""
    return " or ".join(map(repr, get_close_matches(name, [*known], n=most)))


def no_such(name: str, known: Iterable[str], place: str) -> str:
    """Return the message for a command that does not exist: it names similar ones."""
    close = similar_names(name, known)
    meant = f"Did you mean {close}?" if close else f"`{place} --help` lists them."
    return f"No such command {name!r}. {meant}"
