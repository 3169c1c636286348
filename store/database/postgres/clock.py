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
    """The database's time, counted from the last measurement on.

    It does not follow this machine's time between two measurements. If that jumped forward, a
    worker would end the leases of all others, and make their deliveries again.
    """

    def __init__(self) -> None:
        self._offset = super().now() - steady()
        self._measured = -AGAIN_AFTER

    def now(self) -> int:
        return steady() + self._offset

    @property
    def stale(self) -> bool:
        """Return whether the time must be measured again."""
        return time.monotonic() - self._measured >= AGAIN_AFTER

    def measure(self, raw: psycopg.Connection[Any]) -> None:
        """Measure the database's time. The fastest of several answers counts.

        If this machine's time agrees with it, this machine's time counts.
        """
        took, offset = min(_ask(raw) for _ in range(ASKED))
        own = super().now() - steady()
        self._offset = own if abs(offset - own) < max(took, LEAST) else offset
        self._measured = time.monotonic()


def _ask(raw: psycopg.Connection[Any]) -> tuple[int, int]:
    """Return how long an answer took, and how far its time is ahead of `steady`."""
    before = steady()
    row = raw.execute(QUESTION).fetchone()
    after = steady()
    assert row is not None
    return after - before, int(row[0]) - (before + after) // 2


def steady() -> int:
    """Return microseconds that nothing sets. They also pass while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
