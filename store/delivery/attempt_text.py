"""Search for a text in payloads and answers, newest first, bounded in time and in what it reads."""

import json
import time
from collections.abc import Callable, Sequence

from store.database.connection import Connection, Row, json_array
from store.delivery import attempt_feed, events
from store.delivery.attempt_feed import AttemptFilter, AttemptPage

# The limits of one search: seconds, and bytes of payloads and answers.
SECONDS, MOST_BYTES = 1.0, 32 * 1024 * 1024
# Attempts that are read at a time.
CHUNK = 100


def page(
    db: Connection,
    wanted: AttemptFilter,
    text: str,
    *,
    limit: int,
    before: int | None = None,
    most_bytes: int = MOST_BYTES,
    clock: Callable[[], float] = time.monotonic,
) -> AttemptPage:
    """Return the newest matching attempts whose payload or answer contains a text in any case.

    If the search ended at a limit, `scanned` is the number of attempts that were read, and `older`
    is the id from which to continue.
    """
    ends, left = clock() + SECONDS, most_bytes
    found: list[Row] = []
    scanned = 0
    while True:
        part = attempt_feed.page(db, wanted, limit=CHUNK, before=before)
        matching, read = _matching(db, part.rows, text)
        left -= read
        scanned += max(len(part.rows), part.scanned)
        for row in part.rows:
            if row["id"] in matching:
                found.append(row)
            if len(found) == limit and row is not part.rows[-1]:
                return AttemptPage(found, row["id"])
        before = part.older
        if before is None:
            return AttemptPage(found)
        if len(found) >= limit:
            return AttemptPage(found[:limit], before)
        if left <= 0 or clock() >= ends:
            return AttemptPage(found, before, scanned)


def _matching(db: Connection, rows: Sequence[Row], text: str) -> tuple[set[int], int]:
    """Return the ids of the attempts that contain the text, and how many bytes were read."""
    # JSON may escape letters; an escaped letter has no other case.
    escaped = (json.dumps(one)[1:-1].lower() for one in (text, text.lower(), text.upper()))
    forms = {text.lower(), *escaped}
    answers = db.tuples(
        f"SELECT a.id, a.response_body FROM {db.each('ids', wanted='integer')} AS w"
        " JOIN attempt a ON a.id = w.wanted WHERE a.response_body IS NOT NULL",
        ids=json_array(row["id"] for row in rows),
    )
    found = {number for number, body in answers if _contains(body, forms)}
    read = sum(len(body) for _, body in answers)
    waiting = list(dict.fromkeys(row["event_id"] for row in rows if row["id"] not in found))
    matching: set[int] = set()
    while waiting:
        bodies = events.get_many(db, waiting, MOST_BYTES // 8)
        for event_id, event in bodies.items():
            if event is not None and event["body"] is not None:
                read += len(event["body"])
                if _contains(event["body"].decode("utf-8", "replace"), forms):
                    matching.add(event_id)
        waiting = waiting[len(bodies) :]
    return found | {row["id"] for row in rows if row["event_id"] in matching}, read


def _contains(text: str, forms: set[str]) -> bool:
    lowered = text.lower()
    return any(form in lowered for form in forms)
