"""Counters for rate limits, in memory and in the store.

Counting must not make a request wait for the disk. Counters are kept in memory, and read from the
store when a caller is first seen. Once a second, one statement adds all changes to the store and
reads what other hubs have added.

So the counters survive a restart; a crash loses one second at most. They also hold across hubs:
together, the hubs exceed a limit at most by the requests of one such second.
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
    """The count for the window from `start` to `end`, in seconds since 1970.

    `resource` is the category with the length of the window. So windows of two lengths do not
    replace each other after a setting was changed, or while another hub has another one.
    `used` includes `unsaved`, which is in memory only, and `saving`, which is being written.
    `heard` is the step of RateCounters at which the count last agreed with the store.
    """

    subject: str
    resource: str
    start: int
    end: int
    used: int = 0
    unsaved: int = 0
    saving: int = 0
    heard: int = 0

    @property
    def category(self) -> str:
        """Return what is counted."""
        return self.resource.rpartition("/")[0]


class RateCounters:
    """The counters of this hub.

    Safe for several threads; some methods require `lock` to be held.
    """

    def __init__(
        self, store: Store, failed_login_seconds: float, *, max_subjects: int = MAX_SUBJECTS
    ) -> None:
        self._store = store
        self._max_subjects = max_subjects
        self._failed_login_seconds = failed_login_seconds
        self.lock = threading.Lock()
        self._counts: dict[str, dict[str, WindowCounter]] = {}
        self._changed: set[WindowCounter] = set()
        self._steps = 0
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._one_save = asyncio.Lock()
        self._forgotten = time.monotonic()

    def __len__(self) -> int:
        """Return how many callers have counters in memory."""
        return len(self._counts)

    def of(self, db: Connection, key: str) -> dict[str, WindowCounter]:
        """Return a caller's counters by resource."""
        found = self._counts.get(key)
        return self.load(db, key) if found is None else found

    def load(self, db: Connection, key: str) -> dict[str, WindowCounter]:
        """Return a caller's counters, refreshed from the store."""
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
        """Merge a count that the store returned, when it was asked at step `asked`.

        Changes that the store does not have yet are added.
        """
        known = counts.get(spent.resource)
        if known is None or known.start < spent.window_start:
            known = counts[spent.resource] = WindowCounter(
                spent.subject, spent.resource, spent.window_start, spent.window_end, spent.used
            )
        elif known.start == spent.window_start:
            # If a part was being written meanwhile, the store's count may or may not include it.
            if known.saving or known.heard > asked:
                return
            known.used = spent.used + known.unsaved
        self._steps += 1
        known.heard = self._steps

    def running(
        self, counts: dict[str, WindowCounter], key: str, category: str, window: int, now: int
    ) -> WindowCounter:
        """Return the counter of the current window of `window` seconds. `lock` must be held."""
        # The caller may have been forgotten since `of`. Other counters than these are not written.
        counts = self._counts.setdefault(key, counts)
        name = f"{category}/{window}"
        found = counts.get(name)
        if found is not None and rate_limits.is_ahead(found.start, found.end, now):
            found = None
        if found is None or now >= found.end:
            start = _start(key, window, now)
            found = WindowCounter(key, name, start, start + window)
            counts[name] = found
        return found

    def take(self, count: WindowCounter, amount: int) -> None:
        """Add to a counter. `lock` must be held."""
        count.used += amount
        count.unsaved += amount
        self._changed.add(count)

    def save_later(self) -> None:
        """Schedule a write within a second. Must be called on the event loop."""
        # Callers of free requests have counters too, and change none.
        is_needed = self._changed or len(self._counts) > self._max_subjects
        if is_needed and self._timer is None and self._saving is None:
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
        """Write the changes, and read what other hubs wrote."""
        # One save at a time, so that each counter has only one part in writing.
        async with self._one_save:
            await self._write()

    async def _write(self) -> None:
        changed, spent = self._collect()
        try:
            known = await self._store.write_relaxed(rate_limits.add, spent)
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
            # If the window has passed, a newer counter has replaced this one.
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
            if len(self._counts) > self._max_subjects:
                # The removed counters are in the store and are read again when needed.
                busy = {one.subject for one in self._changed}
                self._counts = {key: self._counts[key] for key in busy if key in self._counts}
        if time.monotonic() - self._forgotten < FORGET_EVERY:
            return
        self._forgotten = time.monotonic()
        self._remove_ended()
        with contextlib.suppress(StoreError):
            await self._store.write_relaxed(_drop, self._failed_login_seconds)

    def _remove_ended(self) -> None:
        """Remove the callers whose windows have all ended, as the store does."""
        now = self._store.clock.now() // SECOND
        with self.lock:
            kept = {
                key: counts
                for key, counts in self._counts.items()
                if any(now < one.end for one in counts.values())
            }
            self._counts = kept

    async def close(self) -> None:
        """Write the changes."""
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
    """Return the start of the current window.

    It is the same for every hub but differs by caller.
    """
    offset = crc32(key.encode()) % window
    return (now - offset) // window * window + offset
