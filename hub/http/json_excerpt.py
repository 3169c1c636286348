"""The beginning of a body as people read it: JSON with indents, and anything else unchanged.

Indents multiply the size of JSON by its depth, so the text is made no further than it is shown.
"""

import json
from typing import NamedTuple

import orjson

# A larger body is not indented, because all of it would have to be parsed.
MOST_PARSED = 1024 * 1024
_ENCODER = json.JSONEncoder(indent=2, ensure_ascii=False)


class Excerpt(NamedTuple):
    """The beginning of a body, and whether there is more."""

    text: str
    is_cut: bool


def excerpt(body: bytes, most: int) -> Excerpt:
    """Return the first `most` characters of a body."""
    try:
        text = _indented(body, most) if len(body) <= MOST_PARSED else _plain(body, most)
    except (orjson.JSONDecodeError, RecursionError):
        text = _plain(body, most)
    return Excerpt(text[:most], len(text) > most)


def _indented(body: bytes, most: int) -> str:
    parts: list[str] = []
    size = 0
    for part in _ENCODER.iterencode(orjson.loads(body)):
        parts.append(part)
        size += len(part)
        if size > most:
            break
    return "".join(parts)


def _plain(body: bytes, most: int) -> str:
    # A character has four bytes at most.
    return body[: 4 * (most + 1)].decode(errors="replace")
