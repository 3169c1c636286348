"""How much is begun in one pass of the event loop: whatever else is to be done in it, above all
taking in events, waits for no more than that.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property

# A request that is begun and what comes of it cost some 70 us.
MANY = 64
# While events come in: a pass takes in no more than has come when it begins.
FEW = 8
# Seconds since the last event after which none is expected any more.
QUIET = 0.05


class Passes:
    """Counts what is begun; `again` is called with the next pass where one was not enough."""

    def __init__(self, again: Callable[[], None]) -> None:
        self._again = again
        self._begun = 0
        self._most = MANY
        self._counting = False
        self._busy_until = 0.0

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11.
        return asyncio.get_running_loop()

    def crowd(self) -> None:
        """Events come in: let them have the loop."""
        self._busy_until = self._loop.time() + QUIET

    @property
    def over(self) -> bool:
        """Whether nothing more is to be begun in this pass."""
        return self._begun >= self._most

    def begin(self) -> None:
        """Count one more."""
        self._begun += 1
        if not self._counting:
            self._counting = True
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        full, self._counting, self._begun = self.over, False, 0
        self._most = FEW if self._loop.time() < self._busy_until else MANY
        if full:
            self._again()
