"""What callers have spent, kept in memory and in the store.

Counting must not make a request wait for the disk. Counts are kept in memory, read from the store
when a caller is first seen, and what was added to them is written there once a second for all
callers in one statement, which also brings back what other hubs added. So they outlive a restart
(a crash forgets a second at most) and hold across hubs: together `n` of them let pass no more
than a limit and what reaches the others in one such second.
"""

import asyncio
import contextlib
import threading
import time
from dataclasses import dataclass
from zlib import crc32

from store import Connection, Store
from store.accounts import logins, rate_limits
from store.clock import SECOND
from store.errors import StoreError

INTERVAL = 1.0
FORGET_EVERY = 600.0
MAX_SUBJECTS = 50_000


@dataclass(slots=True, eq=False)
class WindowCounter:
    """Spent in the window from `start` to `end`, in seconds; `unsaved` of it in memory alone, and
    `saving` on its way to the store. `heard` says at which of the steps of Counts it last agreed
    with the store.
    """

    subject: str
    resource: str
    start: int
    end: int
    used: int = 0
    unsaved: int = 0
    saving: int = 0
    heard: int = 0


class RateCounters:
    """The counts of this hub. Safe to use from several threads: what says so wants `lock` held."""

    def __init__(self, store: Store, failed_login_seconds: float) -> None:
        self._store = store
        self._failed_login_seconds = failed_login_seconds
        self.lock = threading.Lock()
        self._counts: dict[str, dict[str, WindowCounter]] = {}
        self._changed: set[WindowCounter] = set()
        self._steps = 0
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._one_save = asyncio.Lock()
        self._forgotten = time.monotonic()

    def of(self, db: Connection, key: str) -> dict[str, WindowCounter]:
        """A caller's counts, by what is counted."""
        found = self._counts.get(key)
        return self.load(db, key) if found is None else found

    def load(self, db: Connection, key: str) -> dict[str, WindowCounter]:
        """The same, with what the store knows by now."""
        asked = self._steps
        rows = rate_limits.spent_by(db, key)
        with self.lock:
            counts = self._counts.setdefault(key, {})
            for row in rows:
                self._merge_stored(counts, rate_limits.StoredCount(**row), asked)
        return counts

    def _merge_stored(
        self, counts: dict[str, WindowCounter], spent: rate_limits.StoredCount, asked: int
    ) -> None:
        """Take over what the store said when it was asked at a step, beside what it does not know
        yet.
        """
        known = counts.get(spent.resource)
        if known is None or known.start < spent.window_start:
            known = counts[spent.resource] = WindowCounter(
                spent.subject, spent.resource, spent.window_start, spent.window_end, spent.used
            )
        elif known.start == spent.window_start:
            # Of a part that is on its way, or was at some time since, nobody can say whether the
            # answer has it.
            if known.saving or known.heard > asked:
                return
            known.used = spent.used + known.unsaved
        self._steps += 1
        known.heard = self._steps

    def running(
        self, counts: dict[str, WindowCounter], key: str, resource: str, window: int, now: int
    ) -> WindowCounter:
        """The count of the window of so many seconds that is running; with the lock held."""
        found = counts.get(resource)
        if found is None or now >= found.end or found.end - found.start != window:
            start = _start(key, window, now)
            found = WindowCounter(key, resource, start, start + window)
            counts[resource] = found
        return found

    def take(self, count: WindowCounter, amount: int) -> None:
        """Add to what was spent; with the lock held."""
        count.used += amount
        count.unsaved += amount
        self._changed.add(count)

    def save_later(self) -> None:
        """Have what is not written yet written within a second; on the event loop."""
        if self._changed and self._timer is None and self._saving is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._save_soon)

    def _save_soon(self) -> None:
        self._timer = None
        self._saving = asyncio.get_running_loop().create_task(self._save())

    async def _save(self) -> None:
        try:
            await self.save()
        finally:
            self._saving = None
            self.save_later()

    async def save(self) -> None:
        """Write what is not written yet, and learn what others wrote."""
        # One at a time: of a count only one part is on its way.
        async with self._one_save:
            await self._write()

    async def _write(self) -> None:
        changed, spent = self._collect()
        try:
            known = await self._store.note(rate_limits.add, spent)
        except StoreError:
            with self.lock:
                for count in changed:
                    count.unsaved += count.saving
                    count.saving = 0
                self._changed |= set(changed)
            return
        with self.lock:
            for count in changed:
                count.saving = 0
            for one in known:
                self._merge_stored(self._counts.setdefault(one.subject, {}), one, self._steps)
        await self._forget()

    def _collect(self) -> tuple[list[WindowCounter], list[rate_limits.StoredCount]]:
        with self.lock:
            # Of one whose window has passed there is a newer one, which alone is of interest.
            changed = [one for one in self._changed if self._is_current(one)]
            self._changed.clear()
            spent = [
                rate_limits.StoredCount(one.subject, one.resource, one.start, one.end, one.unsaved)
                for one in changed
            ]
            for one in changed:
                one.saving, one.unsaved = one.unsaved, 0
        return changed, spent

    def _is_current(self, count: WindowCounter) -> bool:
        return self._counts.get(count.subject, {}).get(count.resource) is count

    async def _forget(self) -> None:
        with self.lock:
            if len(self._counts) > MAX_SUBJECTS:
                # They are in the store, and read again when they are needed.
                busy = {one.subject for one in self._changed}
                self._counts = {key: self._counts[key] for key in busy if key in self._counts}
        if time.monotonic() - self._forgotten < FORGET_EVERY:
            return
        self._forgotten = time.monotonic()
        with contextlib.suppress(StoreError):
            await self._store.note(_drop, self._failed_login_seconds)

    async def close(self) -> None:
        """Write what is not written yet."""
        if self._saving is not None:
            await self._saving
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._changed:
            await self.save()


def _drop(db: Connection, failed_login_seconds: float) -> None:
    rate_limits.forget(db, db.now // SECOND)
    logins.forget(db, failed_login_seconds)


def _start(key: str, window: int, now: int) -> int:
    """When the window that is running began: the same for every hub, and not for every caller."""
    offset = crc32(key.encode()) % window
    return (now - offset) // window * window + offset
