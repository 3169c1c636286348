"""The time of a database that several machines share: its own, so that theirs need not agree.

What is due, and which lease has ended, is decided by comparing moments that different processes
wrote down. With a clock each, a hub that is a second fast would make every delivery wait a second,
and a worker that is half a minute fast would take the others' deliveries out of their hands.
"""

import time
from typing import Any

import psycopg

from store.clock import Clock

AGAIN_AFTER = 10.0
ASKED = 3
QUESTION = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
# A difference that is less than the question took is no difference.
LEAST = 1_000


class PostgresClock(Clock):
    """The database's time: this machine's, corrected by the difference that was last measured."""

    def __init__(self) -> None:
        self._ahead = 0
        self._measured = -AGAIN_AFTER

    def now(self) -> int:
        return super().now() + self._ahead

    @property
    def stale(self) -> bool:
        """Whether it is time to measure again."""
        return time.monotonic() - self._measured >= AGAIN_AFTER

    def measure(self, raw: psycopg.Connection[Any]) -> None:
        """Ask the database what time it is; of several answers the quickest counts."""
        _, self._ahead = min(self._ask(raw) for _ in range(ASKED))
        self._measured = time.monotonic()

    def _ask(self, raw: psycopg.Connection[Any]) -> tuple[int, int]:
        before = super().now()
        row = raw.execute(QUESTION).fetchone()
        after = super().now()
        assert row is not None
        ahead = int(row[0]) - (before + after) // 2
        return after - before, 0 if abs(ahead) < max(after - before, LEAST) else ahead
