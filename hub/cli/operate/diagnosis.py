"""The findings of `tocsin doctor`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from store.errors import StoreError

GOOD, WARNING, BAD = "good", "warning", "bad"
LEVELS = (GOOD, WARNING, BAD)


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one thing in a sentence, with its level and a remedy."""

    about: str
    level: str
    said: str
    remedy: str = ""


def good(about: str, said: str) -> Finding:
    """Return a finding that something is as it should be."""
    return Finding(about, GOOD, said)


def warning(about: str, said: str, remedy: str) -> Finding:
    """Return a finding that something works but needs attention."""
    return Finding(about, WARNING, said, remedy)


def bad(about: str, said: str, remedy: str) -> Finding:
    """Return a finding that something does not work, or soon will not."""
    return Finding(about, BAD, said, remedy)


def worst(findings: Iterable[Finding]) -> int:
    """Return the worst level: 0 if all findings are good, 1 for a warning, 2 if one is bad."""
    return max((LEVELS.index(one.level) for one in findings), default=0)


def examine(about: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check. If the check itself fails, yield that as a bad finding."""
    try:
        yield from list(look())
    except StoreError as error:
        yield bad(about, str(error), "correct that first, then run `tocsin doctor` again")
    except OSError as error:
        yield bad(about, f"cannot be checked: {error}", "run `tocsin doctor` as the right user")
