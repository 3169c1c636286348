"""Turning ingested events into state, behind the deliveries' back: what it does may come a moment
later, and deliveries may not.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from store import Connection, Store, reflection
from store.errors import Busy, StoreError, Unavailable
from store.reflection import Ahead, Gap, Item, Overtaken

log = logging.getLogger("tocsin.worker")

# Seconds that a transaction takes up events for: everybody who writes waits behind it.
TURN = 0.003
# The rest after it, in times of it: at most, and how much more where the writer is wanted.
MOST, CROWD = 20, 3
# Seconds until it is asked again whether an event that is missing comes.
PATIENCE = 0.02
# Seconds for the turn that is under way at the end. It is whole or it was not.
LAST_TURN = 2.0


class Pace:
    """Gives way to what else is done: after each turn it rests for as long, longer where others
    wait for the writer too, and much longer the less is left of a processor, of which the process
    has one.
    """

    def __init__(self) -> None:
        self.processor = self.writer = 0.0
        """Used by others of late: 0 to 1."""

    async def rest(self, worked: float, waited: float = 0.0) -> None:
        """Rest after so many seconds of work, and so many of waiting for the writer."""
        self.writer = _mean(self.writer, waited, worked + waited)
        times = max(min(1 / (1 - self.processor + 1e-9) ** 2, MOST), 1 + CROWD * self.writer)
        wall, processor = time.monotonic(), time.process_time()
        await asyncio.sleep(worked * times)
        wall, processor = time.monotonic() - wall, time.process_time() - processor
        self.processor = _mean(self.processor, processor, wall)


def _mean(before: float, part: float, whole: float) -> float:
    return (before + min(part / whole, 1.0)) / 2 if whole > 0 else before


class Reflector:
    """Takes up what is there when it is woken. Of several workers one does it, while it lives."""

    def __init__(self, store: Store, lease: Callable[[], int | None]) -> None:
        self._store = store
        self._lease = lease
        self._pace = Pace()
        self._worked = 0.0
        """Seconds of the turn that were spent in the transaction."""
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
        if state["lease_id"] == lease_id:
            return True
        return bool(await self._store.note(reflection.claim, lease_id))

    async def _take_up(self, ahead: Ahead, items: Sequence[Item]) -> None:
        after, done = ahead.after, False
        while not done and self._goes_on:
            begun = time.monotonic()
            self._worked = 0.0
            try:
                after, items = await self._turn(after, items, ahead.upto)
            except Overtaken:
                return
            done = after == ahead.upto
            took = time.monotonic() - begun
            worked = self._worked or took
            await self._pace.rest(worked, took - worked)

    async def _turn(
        self, after: int, items: Sequence[Item], upto: int
    ) -> tuple[int, Sequence[Item]]:
        """One transaction; returns where the cursor is then, and the items that are left."""
        try:
            many, self._worked = await self._store.note(_advance, after, items, upto)
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


def _advance(db: Connection, after: int, items: Sequence[Item], upto: int) -> tuple[int, float]:
    """How many were taken up, and the seconds that this took."""
    begun = time.monotonic()
    many = reflection.advance(db, after, items, upto, TURN)
    return many, time.monotonic() - begun


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
