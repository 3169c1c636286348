"""The differences between two attempts at a delivery."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hub.ui import status_text
from hub.ui.formatting import duration, masked
from store import Row

# Answers are compared up to this many lines, and each line up to this many characters.
MOST_LINES, MOST_CHARACTERS = 200, 300
CONTEXT = 2
# These headers differ for every attempt: the time, and the signature over the time.
EXPECTED = ("webhook-timestamp", "webhook-signature")
ADDED, REMOVED, SAME, GAP = "added", "removed", "same", "gap"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that differs."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AttemptComparison:
    """The differences between an attempt and the one `before` it."""

    before: Row
    facts: list[Difference]
    lines: list[tuple[str, str]]
    """The lines of the answer's body with their kind; empty if the bodies are equal."""

    @property
    def is_empty(self) -> bool:
        return not self.facts and not self.lines


def compare(before: Row, after: Row) -> AttemptComparison:
    """Compare two attempts, as `store.delivery.attempts.get` returns them."""
    bodies = before["response_body"] or "", after["response_body"] or ""
    lines = [] if bodies[0] == bodies[1] else [*_lines(*bodies)]
    return AttemptComparison(before, [*_facts(before, after)], lines)


def _facts(before: Row, after: Row) -> Iterator[Difference]:
    pairs = [
        ("Outcome", *(status_text.outcome(one)[1] for one in (before, after))),
        ("URL", masked(before["url"]), masked(after["url"])),
        ("Address", before["address"] or "–", after["address"] or "–"),
        ("Duration", duration(before["duration"]), duration(after["duration"])),
    ]
    for name, one, other in pairs:
        if one != other:
            yield Difference(name, one, other)
    yield from _headers("Request", before["request_headers"], after["request_headers"])
    yield from _headers(
        "Response", before["response_headers"] or {}, after["response_headers"] or {}
    )


def _headers(
    side: str, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[Difference]:
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name, "–"), after.get(name, "–")
        if one != other and name.lower() not in EXPECTED:
            yield Difference(f"{side}: {name}", one, other)


def _lines(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Return the lines of both bodies, with the kind of each: what differs, and some context."""
    one, other = _cut(before), _cut(after)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            yield GAP, ""
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from ((SAME, line) for line in one[i1:i2])
                continue
            yield from ((REMOVED, line) for line in one[i1:i2])
            yield from ((ADDED, line) for line in other[j1:j2])


def _cut(text: str) -> list[str]:
    return [line[:MOST_CHARACTERS] for line in text.splitlines()[:MOST_LINES]]
