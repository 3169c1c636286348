"""Signatures of texts: one bit for each sequence of three characters.

A text contains another one only if it has all bits of the other. The reverse is not certain, so a
hit must be compared with the real text.
"""

import json
import zlib
from collections.abc import Collection, Iterable
from functools import lru_cache

LENGTH = 3
# The number of different bits.
BITS = 8192
# A longer text has every bit, so it is always compared.
LONGEST = 1_000_000
ALL = frozenset(range(BITS))
# The limit of bits that a search compares. More of them hardly exclude more texts.
COMPARED = 16


def forms(text: str) -> set[str]:
    """Return the forms in which a text can occur in lower-case JSON and other texts."""
    # JSON may escape letters; an escaped letter has no other case.
    escaped = (json.dumps(one)[1:-1].lower() for one in (text, text.lower(), text.upper()))
    return {text.lower(), *escaped}


def contains(text: str, wanted: Iterable[str]) -> bool:
    """Return whether a text contains one of these forms in any case."""
    lowered = text.lower()
    return any(form in lowered for form in wanted)


def bits(text: str) -> frozenset[int]:
    """Return the bits of a text, which are the same in upper and in lower case."""
    if len(text) > LONGEST:
        return ALL
    lowered = text.lower()
    return frozenset(map(_bit, {lowered[at : at + LENGTH] for at in _starts(lowered)}))


def bits_of_forms(wanted: Iterable[str]) -> list[frozenset[int]] | None:
    """Return bits that a text with each form must have, or None if a form is too short."""
    found = [_few(form) for form in wanted]
    return found if all(found) else None


def _few(form: str) -> frozenset[int]:
    """Return at most COMPARED bits, for sequences from the beginning of the form to its end."""
    starts: Collection[int] = _starts(form)
    if len(starts) > COMPARED:
        starts = [at * (len(starts) - 1) // (COMPARED - 1) for at in range(COMPARED)]
    return frozenset(_bit(form[at : at + LENGTH]) for at in starts)


def _starts(text: str) -> range:
    return range(len(text) - LENGTH + 1)


@lru_cache(maxsize=65_536)
def _bit(trigram: str) -> int:
    return zlib.crc32(trigram.encode("utf-8", "surrogatepass")) % BITS
