"""Wake-ups within a process: requests that wait for deliveries of a hook continue when one is due.

These are requests of pull hooks' receivers. Workers have notifications of their own.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from store.database.notifications import RemoteNotifier, WorkerNotifier
from store.errors import Busy

# The limit of waiters for one hook, in this process.
MOST_WAITERS = 100


class Waiter:
    """An event for one waiter. Any thread may set it."""

    def __init__(self) -> None:
        # Commands import this module, and only daemons wait.
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        # A loop that is closed has no waiters any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        """Wait until it is set. It can then be set again."""
        await self._event.wait()
        self._event.clear()


class Wakeups:
    """The waiters of this process, by hook."""

    def __init__(self) -> None:
        self._waiters: dict[int, set[Waiter]] = {}
        self.forward: Callable[[Iterable[int]], None] | None = None
        """Called with what this process announces, to wake the waiters of other processes."""

    @contextlib.contextmanager
    def waiting(self, hook_id: int) -> Iterator[Waiter]:
        """Yield a waiter for a hook. It is set with each announcement from now on.

        Raises Busy if there are MOST_WAITERS for this hook.
        """
        waiters = self._waiters.setdefault(hook_id, set())
        if len(waiters) >= MOST_WAITERS:
            raise Busy(f"{MOST_WAITERS} requests wait for deliveries of hook {hook_id} already")
        waiter = Waiter()
        waiters.add(waiter)
        try:
            yield waiter
        finally:
            waiters.discard(waiter)
            if not waiters and self._waiters.get(hook_id) is waiters:
                del self._waiters[hook_id]

    def count(self, hook_id: int) -> int:
        return len(self._waiters.get(hook_id, ()))

    def wake(self, hook_ids: Iterable[int]) -> None:
        """Wake the waiters of this process."""
        if self._waiters:
            for hook_id in hook_ids:
                for waiter in tuple(self._waiters.get(hook_id, ())):
                    waiter.set()

    def wake_all(self) -> None:
        """Wake every waiter, because announcements may have been lost."""
        self.wake([*self._waiters])

    def announce(self, hook_ids: Sequence[int]) -> None:
        """Wake the waiters of this process and of others."""
        self.wake(hook_ids)
        if self.forward is not None:
            self.forward(hook_ids)


class AnnouncingNotifier:
    """A `StoreNotifier`: it also announces to waiters what is due."""

    def __init__(self, inner: WorkerNotifier, wakeups: Wakeups) -> None:
        self._inner = inner
        self._wakeups = wakeups
        # These notifications concern the worker alone.
        self.lease, self.full = inner.lease, inner.full
        self.dispatch, self.arrived = inner.dispatch, inner.arrived

    def wake(self, hooks: Iterable[int]) -> None:
        chosen = list(hooks)
        self._inner.wake(chosen)
        self._wakeups.announce(chosen)

    def due(self, hooks: Iterable[int]) -> None:
        chosen = list(hooks)
        self._inner.due(chosen)
        self._wakeups.announce(chosen)

    def pushed(self, hooks: Iterable[int]) -> None:
        # Not `wake`: the worker would read each hook again, which takes a twentieth of a delivery.
        self._inner.due(hooks)

    def pulled(self, hooks: Iterable[int]) -> None:
        chosen = list(hooks)
        if isinstance(self._inner, RemoteNotifier):
            self._inner.wake(chosen)
        self._wakeups.announce(chosen)
