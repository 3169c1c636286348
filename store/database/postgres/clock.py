"""The database's clock, which all machines use, so that their own clocks need not agree.

Due times and leases are decided by comparing times that different processes wrote. If each used its
own clock, a hub that is a second fast would delay every delivery by a second, and a worker that is
half a minute fast would take the deliveries of other workers.
"""

import time
from typing import Any

import psycopg

from store.clock import Clock

AGAIN_AFTER = 10.0
ASKED = 3
QUESTION = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
# In microseconds. A difference below this, or below the duration of the query, counts as none.
LEAST = 1_000


class PostgresClock(Clock):
    """The database's time: this machine's time plus the last measured difference."""

    def __init__(self) -> None:
        self._ahead = 0
        self._measured = -AGAIN_AFTER

    def now(self) -> int:
        return super().now() + self._ahead

    @property
    def stale(self) -> bool:
        """Return whether the difference must be measured again."""
        return time.monotonic() - self._measured >= AGAIN_AFTER

    def measure(self, raw: psycopg.Connection[Any]) -> None:
        """Measure the difference to the database's time. The fastest of several answers counts."""
        _, self._ahead = min(self._ask(raw) for _ in range(ASKED))
        self._measured = time.monotonic()

    def _ask(self, raw: psycopg.Connection[Any]) -> tuple[int, int]:
        before = super().now()
        row = raw.execute(QUESTION).fetchone()
        after = super().now()
        assert row is not None
        ahead = int(row[0]) - (before + after) // 2
        return after - before, 0 if abs(ahead) < max(after - before, LEAST) else ahead
