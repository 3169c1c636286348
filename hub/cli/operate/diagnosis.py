"""What an examination finds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from store.errors import StoreError

GOOD, WARNING, BAD = "good", "warning", "bad"
LEVELS = (GOOD, WARNING, BAD)


@dataclass(frozen=True, slots=True)
class Finding:
    """How something is, in a sentence, and what to do about it."""

    about: str
    level: str
    said: str
    remedy: str = ""


def good(about: str, said: str) -> Finding:
    """As it should be."""
    return Finding(about, GOOD, said)


def warning(about: str, said: str, remedy: str) -> Finding:
    """It works, and somebody should see to it."""
    return Finding(about, WARNING, said, remedy)


def bad(about: str, said: str, remedy: str) -> Finding:
    """It does not work, or will not for long."""
    return Finding(about, BAD, said, remedy)


def worst(findings: Iterable[Finding]) -> int:
    """0 where all is good, 1 with warnings, 2 where something is bad."""
    return max((LEVELS.index(one.level) for one in findings), default=0)


def examine(about: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a look finds; that it cannot look is a finding, too."""
    try:
        yield from list(look())
    except StoreError as error:
        yield bad(about, str(error), "see to that first, then run `tocsin doctor` again")
    except OSError as error:
        yield bad(about, f"cannot be looked at: {error}", "run `tocsin doctor` as the right user")
