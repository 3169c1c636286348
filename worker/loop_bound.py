"""The event loop of objects that are made before it runs."""

import asyncio


class LoopBound:
    """An object that works on one event loop: the one that runs when it first needs it."""

    _known_loop: asyncio.AbstractEventLoop | None = None

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept, because `get_running_loop` is a system call in Python 3.11, and each delivery needs
        # it several times. In a compiled class, `cached_property` would keep nothing.
        loop = self._known_loop
        if loop is None:
            loop = self._known_loop = asyncio.get_running_loop()
        return loop
