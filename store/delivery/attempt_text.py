"""Search for a text in payloads and answers, newest first, bounded in time and in what it reads.

Where attempts are indexed, only possible matches are read.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import neg

from store.database.connection import LAST_ID, Connection, Row, json_array
from store.delivery import attempt_feed, events
from store.delivery.attempt_feed import AttemptPage
from store.delivery.attempt_filter import AttemptFilter
from store.text_index import portions, slices, trigrams

# The limits of one search: seconds, and bytes of payloads and answers.
SECONDS, MOST_BYTES = 1.0, 32 * 1024 * 1024
# Attempts that are read at a time, and bytes of payloads.
CHUNK, CHUNK_BYTES = 100, MOST_BYTES // 8
# Attempts that are looked up in the index at a time.
WINDOW = 4_096


class _Budget:
    """The time and the bytes that a search has left."""

    def __init__(self, most_bytes: int, clock: Callable[[], float]) -> None:
        self._clock, self._ends = clock, clock() + SECONDS
        self.bytes = most_bytes

    @property
    def spent(self) -> bool:
        return self.bytes <= 0 or self._clock() >= self._ends


@dataclass(frozen=True, slots=True)
class _Part:
    """Attempts to read, out of successive ones with these ids."""

    rows: Sequence[Row]
    ids: Sequence[int]
    earlier: int
    """How many attempts were searched in earlier windows."""
    reached: int
    last: bool

    def scanned(self, reached: int) -> int:
        """Return how many attempts were searched, down to this id."""
        return self.earlier + bisect_right(self.ids, -reached, key=neg)


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

    The search ends after SECONDS seconds, or after `most_bytes` bytes of payloads and answers. If
    it ended at such a limit, `scanned` is the number of attempts that were searched, and `older` is
    the id from which to continue.
    """
    budget = _Budget(most_bytes, clock)
    forms = trigrams.forms(text)
    found: list[Row] = []
    for part in _parts(db, wanted, forms, before):
        reached = part.reached
        for row, matches in _examined(db, part.rows, forms, budget):
            at_end = part.last and row is part.rows[-1]
            reached = part.reached if row is part.rows[-1] else row["id"]
            if matches:
                found.append(row)
            if len(found) == limit and not at_end:
                return AttemptPage(found, row["id"])
        if reached != part.reached or (budget.spent and not part.last):
            return AttemptPage(found, reached, part.scanned(reached))
    return AttemptPage(found)


def _parts(
    db: Connection, wanted: AttemptFilter, forms: set[str], before: int | None
) -> Iterator[_Part]:
    """Yield the attempts to read: possible ones among the indexed, and all others."""
    bits = None if portions.is_empty(db) else trigrams.bits_of_forms(forms)
    below = min(before or LAST_ID, wanted.before or LAST_ID)
    window, earlier, more = CHUNK, 0, True
    while more:
        ids, more = attempt_feed.candidates(db, wanted, below, window)
        if not ids:
            return
        kept = ids if bits is None else slices.possible(db, ids, bits)
        for at in range(0, max(len(kept), 1), CHUNK):
            chosen = kept[at : at + CHUNK]
            rows = attempt_feed.select(db, wanted, chosen, CHUNK) if chosen else []
            at_end = at + CHUNK >= len(kept)
            reached = ids[-1] if at_end else chosen[-1]
            yield _Part(rows, ids, earlier, reached, at_end and not more)
        below, earlier, window = ids[-1], earlier + len(ids), min(window * 4, WINDOW)


def _examined(
    db: Connection, rows: Sequence[Row], forms: set[str], budget: _Budget
) -> Iterator[tuple[Row, bool]]:
    """Yield each attempt, and whether it contains the text, until the budget is spent.

    At least one payload is read, however large it is.
    """
    answered = _answered(db, rows, forms, budget)
    waiting = list(dict.fromkeys(row["event_id"] for row in rows if row["id"] not in answered))
    matching: dict[int, bool] = {}
    for row in rows:
        if row["id"] not in answered and row["event_id"] not in matching:
            if matching and budget.spent:
                return
            read = _payloads(db, waiting, forms, budget)
            matching |= read
            waiting = waiting[len(read) :]
        yield row, row["id"] in answered or matching[row["event_id"]]


def _answered(
    db: Connection, rows: Sequence[Row], forms: set[str], budget: _Budget
) -> frozenset[int]:
    """Return the attempts whose answers contain the text."""
    answers = db.tuples(
        f"SELECT a.id, a.response_body FROM {db.each('ids', wanted='integer')} AS w"
        " JOIN attempt a ON a.id = w.wanted WHERE a.response_body IS NOT NULL",
        ids=json_array(row["id"] for row in rows),
    )
    budget.bytes -= sum(len(body) for _, body in answers)
    return frozenset(number for number, body in answers if trigrams.contains(body, forms))


def _payloads(
    db: Connection, event_ids: list[int], forms: set[str], budget: _Budget
) -> dict[int, bool]:
    """Return for the first of these events whether their payloads contain the text."""
    found: dict[int, bool] = {}
    for event_id, event in events.get_many(db, event_ids, CHUNK_BYTES).items():
        body = (event["body"] if event is not None else None) or b""
        found[event_id] = trigrams.contains(body.decode("utf-8", "replace"), forms)
        budget.bytes -= len(body)
    return found
