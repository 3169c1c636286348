"""How much is begun in one pass of the event loop: whatever else is to be done in it, above all
taking in events, waits for no more than that.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property

# A request that is begun and what comes of it cost some 70 us.
MANY = 64
# While somebody waits for what he writes: a pass does no more for him than has come when it begins.
FEW = 4
# Seconds after which whoever waited last is not followed by another at once.
QUIET = 0.02


class Passes:
    """Counts what is begun. `awaited` says how many wait for the store; `again` is called with the
    next pass where one was not enough.
    """

    def __init__(self, awaited: Callable[[], int], again: Callable[[], None]) -> None:
        self._awaited = awaited
        self._again = again
        self._begun = 0
        self._most = MANY
        self._counting = False
        self._crowded_until = 0.0

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11.
        return asyncio.get_running_loop()

    @property
    def over(self) -> bool:
        """Whether nothing more is to be begun in this pass."""
        return self._begun >= self._most

    def begin(self) -> None:
        """Count one more."""
        self._begun += 1
        if not self._counting:
            self._counting = True
            self._most = self._allowed()
            self._loop.call_soon(self._next)

    def _allowed(self) -> int:
        now = self._loop.time()
        if self._awaited():
            self._crowded_until = now + QUIET
        return FEW if now < self._crowded_until else MANY

    def _next(self) -> None:
        full, self._counting, self._begun = self.over, False, 0
        if full:
            self._again()
