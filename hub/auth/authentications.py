"""The time of each user's last authentication, which the assistant's seats show.

A request must not wait for this write. One time per user and hour is kept in memory, and written a
second later together with other users' times.
"""

import asyncio

from store import Store
from store.assistant import seat_activity
from store.clock import HOUR
from store.errors import StoreError

APART = 1 * HOUR
DELAY = 1.0
MOST = 50_000
"""How many users are kept in memory. Then all are removed, and written again when they return."""


class Authentications:
    """The authentications that this hub has seen. Must be used on the event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written: dict[int, int] = {}
        self._unwritten: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def note(self, account_id: int) -> None:
        """Note that a user has just authenticated."""
        now = self._store.clock.now()
        # abs: after the clock was set back, notes do not stop until it catches up.
        if abs(now - self._written.get(account_id, -APART)) < APART:
            return
        if len(self._written) >= MOST:
            self._written.clear()
        self._written[account_id] = self._unwritten[account_id] = now
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._save_soon)

    def _save_soon(self) -> None:
        self._timer = None
        self._saving = asyncio.get_running_loop().create_task(self.save())

    async def save(self) -> None:
        """Write the pending times."""
        rows, self._unwritten = self._unwritten, {}
        if not rows:
            return
        try:
            await self._store.write_relaxed(seat_activity.authenticated, sorted(rows.items()))
        except StoreError:
            # The next request of each user notes it again.
            for account_id in rows:
                self._written.pop(account_id, None)

    async def close(self) -> None:
        """Write the pending times and stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._saving is not None:
            await self._saving
        await self.save()
