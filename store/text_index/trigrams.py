"""Signatures of texts: one bit for each sequence of three characters.

A text contains another one only if it has all bits of the other. The reverse is not certain, so a
hit must be compared with the real text.
"""

import json
import re
import zlib
from collections.abc import Collection, Iterable
from functools import lru_cache

LENGTH = 3
# The number of different bits.
BITS = 8192
# A longer text has every bit, so it is always compared.
LONGEST = 1_000_000
# The limit of bits that a search compares. More of them hardly exclude more texts.
COMPARED = 16


# A string in JSON, which may have no end, or a character between two values. Spaces are read from
# their first one only, or many of them would take the square of their number.
PARTS = re.compile(r'("(?:[^"\\]|\\.)*"?)|(?:(?<!\s)\s+)?([][{}:,])\s*')


def forms(text: str) -> set[str]:
    """Return the forms in which a text can occur in lower-case JSON and other texts."""
    return set().union(*map(_written, {text, *_layouts(text)}))


def _written(text: str) -> set[str]:
    # JSON may escape letters; an escaped letter has no other case.
    escaped = {json.dumps(one)[1:-1].lower() for one in (text, text.lower(), text.upper())}
    # The quotes of a part of JSON are not escaped, although its letters may be.
    return {text.lower(), *escaped, *(one.replace('\\"', '"') for one in escaped)}


def _layouts(text: str) -> set[str]:
    """Return a part of JSON without spaces between its values, and with the usual ones.

    Payloads are stored as they came, and pages show them with indents. Spaces in a string may
    differ too: such a search rather finds too much.
    """
    # The part may begin in a string, which the first quote ends.
    starts = {0, text.find('"') + 1} if '"' in text else ()
    return {text[:at] + _laid_out(text[at:], space) for at in starts for space in ("", " ")}


def _laid_out(text: str, space: str) -> str:
    return PARTS.sub(lambda part: part[1] or part[2] + space * (part[2] in ":,"), text)


def contains(text: str, wanted: Iterable[str]) -> bool:
    """Return whether a text contains one of these forms in any case."""
    lowered = text.lower()
    return any(form in lowered for form in wanted)


def bits(text: str) -> frozenset[int]:
    """Return the bits of a text, which are the same in upper and in lower case."""
    if len(text) > LONGEST:
        return frozenset(range(BITS))
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
