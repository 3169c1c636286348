"""The projector: it turns ingested events into state.

It gives way to deliveries, because state may follow a moment later.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from store import Connection, Store
from store.errors import Busy, StoreError, Unavailable
from store.projection import event_projection, projection_cursor
from store.projection.event_projection import PendingEvent
from store.projection.projection_cursor import CursorMoved, Gap, PendingEvents
from worker.jobs.pauses import Pacer
from worker.tuning import DEFAULTS

log = logging.getLogger("tocsin.worker")

# Seconds after a wake-up at which the work begins.
HEAD_START = 0.005
# Seconds between two checks whether the transaction with a missing event has ended.
GAP_POLL_SECONDS = 0.02
# Seconds that `stop` waits for the transaction under way. It is committed as a whole or not at all.
STOP_TIMEOUT = 2.0


class Projector:
    """The task that projects stored events when it is woken.

    Among several workers one projects, for as long as it holds its lease.
    """

    def __init__(
        self,
        store: Store,
        lease: Callable[[], int | None],
        *,
        enabled: bool = True,
        batch_seconds: float = DEFAULTS.projection_batch,
    ) -> None:
        self._store = store
        self._lease = lease
        self._enabled = enabled
        self._batch_seconds = batch_seconds
        self._pace = Pacer()
        self._worked = 0.0
        """The seconds that the latest transaction took, without waiting for the writer."""
        self._gap: Gap | None = None
        self._blocked = False
        """Whether the store fails, which is logged once."""
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._stopping = False

    @property
    def idle(self) -> bool:
        """Return whether nothing is under way."""
        return self._task is None

    def wake(self) -> None:
        """Project the events that were stored."""
        self._again = True
        if self._task is None and self._should_run:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def tick(self) -> None:
        """Find events that no wake-up has reported."""
        self.wake()

    @property
    def _should_run(self) -> bool:
        return self._enabled and not self._stopping

    def change(self, enabled: bool) -> None:
        """Enable or disable projection.

        Events that are stored while it is disabled are projected later.
        """
        self._enabled = enabled
        self.wake()

    def abort(self) -> None:
        """Start no further transaction, without waiting for the one under way."""
        self._stopping = True

    async def stop(self) -> None:
        """Stop after the transaction under way."""
        self.abort()
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=STOP_TIMEOUT)
            for task in late:
                task.cancel()

    async def _run(self) -> None:
        try:
            # The deliveries of the same events go first: they would wait for its reads.
            await asyncio.sleep(HEAD_START)
            while self._again and self._should_run:
                self._again = False
                await self._catch_up()
        except StoreError as error:
            if not self._blocked:
                log.error("turning events into state waits for the store: %s", error)
            self._blocked = True
        except Exception:
            log.exception("turning events into state failed")
        finally:
            self._task = None

    async def _catch_up(self) -> None:
        while self._should_run and await self._owns_cursor():
            started = time.monotonic()
            ahead = await self._store.read(projection_cursor.pending, self._gap)
            self._gap = ahead.gap
            if ahead.upto > ahead.after:
                items = await asyncio.to_thread(event_projection.parsed, ahead.events)
                await self._pace.rest(time.monotonic() - started)
                await self._project(ahead, items)
            elif ahead.gap is None:
                break
            elif ahead.gap.writers:
                await asyncio.sleep(GAP_POLL_SECONDS)

    async def _owns_cursor(self) -> bool:
        """Return whether events are left to project and this worker is responsible for them."""
        state = await self._store.read(projection_cursor.state)
        lease_id = self._lease()
        if lease_id is None or state["event_id"] >= state["newest"]:
            return False
        if state["lease_id"] == lease_id:
            return True
        return bool(await self._store.write_relaxed(projection_cursor.claim, lease_id))

    async def _project(self, ahead: PendingEvents, items: Sequence[PendingEvent]) -> None:
        after, done = ahead.after, False
        while not done and self._should_run:
            started = time.monotonic()
            self._worked = 0.0
            try:
                after, items = await self._project_batch(after, items, ahead.upto)
            except CursorMoved:
                return
            if self._blocked:
                log.warning("events are turned into state again")
            self._blocked = False
            done = after == ahead.upto
            took = time.monotonic() - started
            worked = self._worked or took
            await self._pace.rest(worked, took - worked)

    async def _project_batch(
        self, after: int, items: Sequence[PendingEvent], upto: int
    ) -> tuple[int, Sequence[PendingEvent]]:
        """Run one transaction. Return the new position of the cursor, and the items that are
        left.
        """
        try:
            many, self._worked = await self._store.write_relaxed(
                _advance, after, items, upto, self._batch_seconds
            )
        except (Busy, Unavailable, CursorMoved):
            raise
        except Exception as error:
            # If another transaction may have caused it, the store has tried a second time.
            return await self._project_one(after, items, upto, error)
        left = items[many:]
        return (items[many - 1].event["id"] if left else upto), left

    async def _project_one(
        self, after: int, items: Sequence[PendingEvent], upto: int, error: Exception
    ) -> tuple[int, Sequence[PendingEvent]]:
        """Project the first of several events, one of which failed. If the first fails, skip it."""
        first, left = items[0], items[1:]
        reached = first.event["id"] if left else upto
        if len(items) > 1:
            try:
                await self._store.write_relaxed(event_projection.advance, after, [first], reached)
            except (Busy, Unavailable, CursorMoved):
                raise
            except Exception as reason:
                error = reason
            else:
                return reached, left
        _report(first, error)
        await self._store.write_relaxed(projection_cursor.skip, after, reached)
        return reached, left


def _advance(
    db: Connection, after: int, items: Sequence[PendingEvent], upto: int, seconds: float
) -> tuple[int, float]:
    """Project events. Return how many, and the seconds that this took."""
    started = time.monotonic()
    many = event_projection.advance(db, after, items, upto, seconds)
    return many, time.monotonic() - started


def _report(item: PendingEvent, error: Exception) -> None:
    event = item.event
    log.error(
        "event %d (%s, repository %d) is left out of the state: %s",
        event["id"],
        ".".join(filter(None, (event["name"], event["action"]))),
        event["repo_id"],
        # The error's text may quote the payload.
        type(error).__name__,
    )
