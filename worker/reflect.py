"""Turning ingested events into state, behind the deliveries' back: what it does may come a moment
later, and deliveries may not.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from store import Store, reflection
from store.errors import Busy, StoreError, Unavailable
from store.reflection import Ahead, Gap, Item, Overtaken

log = logging.getLogger("tocsin.worker")

# Seconds that a transaction takes up events for: everybody who writes waits behind it.
TURN = 0.003
# The least share of the time that it takes, however busy the process is.
LEAST = 0.05
# Seconds until it is asked again whether an event that is missing comes.
PATIENCE = 0.02
# Seconds for the turn that is under way at the end. It is whole or it was not.
LAST_TURN = 2.0


class Pace:
    """Gives way to what else the process does: after each turn it rests for as long, and the
    longer the more of a processor is used meanwhile. One is all that can be.
    """

    def __init__(self) -> None:
        self.used = 0.0
        """By others, of late: 0 to 1."""

    async def rest(self, took: float) -> None:
        """Rest after a turn of so many seconds."""
        wall, processor = time.monotonic(), time.process_time()
        await asyncio.sleep(took / max(1 - self.used, LEAST))
        wall, processor = time.monotonic() - wall, time.process_time() - processor
        used = min(processor / wall, 1.0) if wall > 0 else 0.0
        self.used = (self.used + used) / 2


class Reflector:
    """Takes up what is there when it is woken. Of several workers one does it, while it lives."""

    def __init__(self, store: Store, lease: Callable[[], int | None]) -> None:
        self._store = store
        self._lease = lease
        self._pace = Pace()
        self._gap: Gap | None = None
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._stopping = False
        self.wanted = True
        """Whether the settings want it done."""

    def soon(self) -> None:
        """Look for events that have come."""
        self._again = True
        if self._task is None and self._goes_on:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def tick(self) -> None:
        """The net beneath the wake-ups."""
        self.soon()

    @property
    def _goes_on(self) -> bool:
        return self.wanted and not self._stopping

    def change(self, wanted: bool) -> None:
        """Do it, or leave it, from now on. What comes meanwhile is taken up later."""
        self.wanted = wanted
        self.soon()

    async def stop(self) -> None:
        """End after the turn that is under way."""
        self._stopping = True
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=LAST_TURN)
            for task in late:
                task.cancel()

    async def _run(self) -> None:
        try:
            while self._again and self._goes_on:
                self._again = False
                await self._catch_up()
        except StoreError as error:
            log.error("events wait for the store to become state: %s", error)
        except Exception:
            log.exception("events are not turned into state for now")
        finally:
            self._task = None

    async def _catch_up(self) -> None:
        while self._goes_on and await self._mine():
            begun = time.monotonic()
            ahead = await self._store.read(reflection.ahead, self._gap)
            self._gap = ahead.gap
            if ahead.upto > ahead.after:
                items = await asyncio.to_thread(reflection.parsed, ahead.events)
                await self._pace.rest(time.monotonic() - begun)
                await self._take_up(ahead, items)
            elif ahead.gap is None:
                break
            elif ahead.gap.writers:
                await asyncio.sleep(PATIENCE)

    async def _mine(self) -> bool:
        """Whether there is something to do, and this worker is the one to do it."""
        state = await self._store.read(reflection.state)
        lease_id = self._lease()
        if lease_id is None or state["event_id"] >= state["newest"]:
            return False
        return state["lease_id"] == lease_id or await self._store.note(reflection.claim, lease_id)

    async def _take_up(self, ahead: Ahead, items: Sequence[Item]) -> None:
        after, done = ahead.after, False
        while not done and self._goes_on:
            begun = time.monotonic()
            try:
                after, items = await self._turn(after, items, ahead.upto)
            except Overtaken:
                return
            done = after == ahead.upto
            await self._pace.rest(time.monotonic() - begun)

    async def _turn(
        self, after: int, items: Sequence[Item], upto: int
    ) -> tuple[int, Sequence[Item]]:
        """One transaction; returns where the cursor is then, and the items that are left."""
        try:
            many = await self._store.note(reflection.advance, after, items, upto, TURN)
        except (Busy, Unavailable, Overtaken):
            raise
        except Exception as error:
            return await self._alone(after, items, upto, error)
        left = items[many:]
        return (items[many - 1].event["id"] if left else upto), left

    async def _alone(
        self, after: int, items: Sequence[Item], upto: int, error: Exception
    ) -> tuple[int, Sequence[Item]]:
        """Take up the first of several events of which one cannot be, or pass over it."""
        first, left = items[0], items[1:]
        reached = first.event["id"] if left else upto
        if len(items) > 1:
            try:
                await self._store.note(reflection.advance, after, [first], reached)
            except (Busy, Unavailable, Overtaken):
                raise
            except Exception as reason:
                error = reason
            else:
                return reached, left
        _report(first, error)
        await self._store.note(reflection.skip, after, reached)
        return reached, left


def _report(item: Item, error: Exception) -> None:
    event = item.event
    log.error(
        "event %d (%s, repository %d) is left out of the state: %s",
        event["id"],
        ".".join(filter(None, (event["name"], event["action"]))),
        event["repo_id"],
        # Its text may hold what was in the payload.
        type(error).__name__,
    )
