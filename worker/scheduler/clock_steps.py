"""Steps of the clock: if it is put back, what waits since a time after now is due at once."""

import asyncio

from store import Store
from store.clock import LATEST, MINUTE, SECOND
from store.delivery import future_times

# Rows that are examined at once. An event may have a thousand deliveries.
BATCH = 200
# Seconds between two batches, so that other work gets its turn.
PAUSE = 0.02


class ClockSteps:
    """Compares the store's clock with one that is never set."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offset = LATEST
        """How far the store's clock was ahead of the event loop's, in microseconds. At first it is
        unknown: the clock may have been put back before the start."""

    async def check(self) -> None:
        """Make deliveries due if the clock was put back since the last check that succeeded."""
        offset = self._store.clock.now() - round(asyncio.get_running_loop().time() * SECOND)
        if offset < self._offset - MINUTE:
            await self._store.write_relaxed(future_times.shorten_leases_of_later)
            for table in future_times.TABLES:
                await self._end_delays(table)
        self._offset = offset

    async def _end_delays(self, table: str) -> None:
        before = LATEST
        while found := await self._store.read(future_times.find_later, table, before, BATCH):
            first, later = found
            if later:
                await self._store.write_relaxed(
                    future_times.end_delays_of_later, table, first, before
                )
            before = first
            await asyncio.sleep(PAUSE)
