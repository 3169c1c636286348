"""Announcements of due deliveries of pull hooks to the hubs of other processes.

The hubs there have requests that wait for them. Only pull hooks are announced: deliveries that
the hub pushes concern no other process.
"""

import asyncio
import contextlib
from collections.abc import Iterable

from store import Store
from store.errors import StoreError
from store.hooks import pull_hooks
from worker.background_tasks import BackgroundTasks

# Seconds in which announcements are collected: a burst costs one look into the store.
COLLECTED = 0.02


class PullAnnouncer:
    """Announces the pull hooks among the hooks that this process has work for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._hook_ids: set[int] = set()
        self._tasks = BackgroundTasks()

    def start(self) -> None:
        """Forward this process's announcements to other processes from now on."""
        self._store.wakeups.forward = self._add

    def stop(self) -> None:
        """Forward nothing more."""
        self._store.wakeups.forward = None
        self._tasks.cancel()

    def _add(self, hook_ids: Iterable[int]) -> None:
        # Announcements follow commits, and these may end on another thread.
        self._loop.call_soon_threadsafe(self._collect, [one for one in hook_ids if one > 0])

    def _collect(self, hook_ids: list[int]) -> None:
        if hook_ids and not self._hook_ids:
            self._tasks.start(self._announce())
        self._hook_ids.update(hook_ids)

    async def _announce(self) -> None:
        await asyncio.sleep(COLLECTED)
        hook_ids, self._hook_ids = self._hook_ids, set()
        # A wake-up that is lost delays a delivery, until the receiver asks again.
        with contextlib.suppress(StoreError):
            pulled = await self._store.read(pull_hooks.among, hook_ids)
            if pulled:
                self._store.engine.waiters_notifier().wake(pulled)
