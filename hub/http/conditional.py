"""Conditional requests: validators of responses, and 304 for an unchanged one."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import NewType

from hub.http.response import Header, Response
from store.clock import SECOND

# Headers that a 304 does not need.
OMITTED_HEADERS = (b"content-type", b"location")

LONGEST_WRITE = 60 * SECOND
"""A change has the time at which its transaction began, and appears when that ends. PostgreSQL ends
a statement that takes longer than this (`statement_timeout`).
"""

SettledTime = NewType("SettledTime", int)
"""The time of a change, in microseconds, that no other change of its second can follow."""


def settled(changed_at: int | None, now: int) -> SettledTime | None:
    """Return the time of the last change if it is a validator, or else None.

    HTTP dates have whole seconds, and another change can follow in the same second (RFC 9110,
    8.8.2.2). `now` is the time at which the reading began.
    """
    if changed_at is None or (changed_at + LONGEST_WRITE) // SECOND >= now // SECOND:
        return None
    return SettledTime(changed_at)


def date(moment: int) -> bytes:
    """Format a time in microseconds as an HTTP date."""
    at = datetime.fromtimestamp(moment // SECOND, UTC)
    return format_datetime(at, usegmt=True).encode()


def etag(answer: Response) -> bytes:
    """Return a weak validator of the response's body and its page links."""
    seen = hashlib.sha256(answer.body)
    for name, value in answer.headers:
        if name == b"link":
            seen.update(value)
    return b'W/"' + seen.hexdigest().encode() + b'"'


def apply_conditions(
    answer: Response, asked: Mapping[bytes, bytes], last_modified: SettledTime | None
) -> bool:
    """Add the validators to the response. If the client has it already, make it a 304.

    Returns whether it became a 304. `asked` are the request's headers.
    """
    tag = etag(answer)
    validators: list[Header] = [(b"etag", tag)]
    if last_modified is not None:
        validators.append((b"last-modified", date(last_modified)))
    answer.headers += validators
    if not _has(asked, tag, last_modified):
        return False
    answer.status, answer.body = 304, b""
    answer.headers = [
        # The platform repeats a validator without the mark of a weak one.
        (name, value.removeprefix(b"W/") if name == b"etag" else value)
        for name, value in answer.headers
        if name not in OMITTED_HEADERS
    ]
    return True


def _has(asked: Mapping[bytes, bytes], tag: bytes, last_modified: SettledTime | None) -> bool:
    tags = asked.get(b"if-none-match")
    if tags is not None:
        bare = tag.removeprefix(b"W/")
        given = (one.strip().removeprefix(b"W/") for one in tags.split(b","))
        return any(one in (bare, b"*") for one in given)
    since = asked.get(b"if-modified-since")
    if since is None or last_modified is None:
        return False
    try:
        at = parsedate_to_datetime(since.decode("latin-1"))
    except (ValueError, OverflowError):
        return False
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return last_modified // SECOND <= at.timestamp()
