"""What this worker has in hand: which deliveries, under which lease, and for how long."""

import asyncio
import logging
from collections.abc import Callable, Iterable

from store import Store, deliveries, leases
from store.backoff import pause
from store.errors import Busy, Unavailable

log = logging.getLogger("tocsin.worker")


class Hand:
    """`lease` is the one that deliveries are taken under, `ids` are those that this worker knows
    to have; it may send them until a moment that moves on with every renewal.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._until = 0
        self.lease: int | None = None
        self.ids: set[int] = set()

    def take_up(self, lease_id: int) -> None:
        """Work under this lease. What was taken under another one is no longer in hand."""
        self.lease = lease_id
        self.ids.clear()

    def keep(self, until: int) -> None:
        """Send until this moment (microseconds): after it others may have what is in hand."""
        self._until = until

    @property
    def may_send(self) -> bool:
        """Whether what is in hand is nobody else's for sure."""
        return self._store.clock.now() < self._until

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
        held = await self._store.note(leases.held, lease_id)
        strays = [delivery_id for delivery_id in held if delivery_id not in self.ids]
        if strays and lease_id == self.lease:
            log.warning("%d deliveries were leased and not in hand: given back", len(strays))
            await self._store.note(deliveries.release, lease_id, strays)

    async def release(
        self, lease_id: int, ids: Iterable[int], again_after: float, ended: Callable[[], bool]
    ) -> None:
        """Give back deliveries, tried until it works or `ended` says that it is no use."""
        tries = 0
        while not ended():
            try:
                await self._store.note(deliveries.release, lease_id, ids)
            except (Busy, Unavailable):
                tries += 1
                await asyncio.sleep(pause(tries, first=again_after, longest=8 * again_after))
            else:
                return
