"""What this worker has in hand: which deliveries, under which lease, and for how long."""

import asyncio
import logging
from collections.abc import Collection, Iterable

from store import Store
from store.database.backoff import backoff_delay
from store.delivery import deliveries, leases
from store.errors import Busy, Unavailable

log = logging.getLogger("tocsin.worker")

# Deliveries that wait in lanes at most: what is beyond waits in the store.
MAX_BUFFERED = 20_000


class LeaseBuffer:
    """`lease` is the one that deliveries are taken under, `ids` are those that this worker knows
    to have; it may send them until a moment that moves on with every renewal.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._until = 0
        self.lease: int | None = None
        self.ids: set[int] = set()
        self.queued = 0
        """How many of them wait in lanes."""
        self.ended = False
        """Nothing more is to be taken in hand, or begun."""

    def take(self, ids: Collection[int]) -> None:
        """These wait in lanes now."""
        self.ids.update(ids)
        self.queued += len(ids)

    def leave(self, ids: Collection[int]) -> None:
        """These wait there no longer, and are to be given back."""
        self.ids.difference_update(ids)
        self.queued -= len(ids)

    @property
    def over_capacity(self) -> bool:
        """Whether memory is full of what waits."""
        return self.queued > MAX_BUFFERED

    @property
    def open_lease(self) -> int | None:
        """The lease that more may be taken under, crowded or not."""
        return None if self.ended else self.lease

    def adopt_lease(self, lease_id: int) -> None:
        """Work under this lease. What was taken under another one is no longer in hand."""
        self.lease = lease_id
        self.ids.clear()

    def keep(self, until: int) -> None:
        """Send until this moment (microseconds): after it others may have what is in hand."""
        self._until = until

    @property
    def can_send(self) -> bool:
        """Whether what is in hand is nobody else's for sure."""
        return self._store.clock.now() < self._until

    def holds(self, lease_id: int) -> bool:
        """Whether what was taken under this lease is nobody else's for sure."""
        return self.lease == lease_id and self.can_send

    async def reconcile(self) -> None:
        """Give back what is under the lease and not in hand.

        Where a connection is lost during a commit nobody knows what became of it: deliveries may
        have been taken for this worker that it never heard of. And a database that has crashed
        may have forgotten the outcomes it recorded last.
        """
        lease_id = self.lease
        if lease_id is None:
            return
        # Asked in the writer's turn: of what was committed before, this worker has heard.
        held = await self._store.note(leases.delivery_ids, lease_id)
        strays = [delivery_id for delivery_id in held if delivery_id not in self.ids]
        if strays and lease_id == self.lease:
            log.warning("%d deliveries were leased and not in hand: given back", len(strays))
            await self._store.note(deliveries.release, lease_id, strays)

    async def release(self, lease_id: int, ids: Iterable[int], again_after: float) -> None:
        """Give back deliveries, tried until it works or all is ended."""
        tries = 0
        while not self.ended:
            try:
                await self._store.note(deliveries.release, lease_id, ids)
            except (Busy, Unavailable):
                tries += 1
                await asyncio.sleep(
                    backoff_delay(tries, first=again_after, longest=8 * again_after)
                )
            else:
                return
