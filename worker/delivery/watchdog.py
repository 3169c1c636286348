"""Signs of life of the delivery loop: its parts say what they are at, and by when it must be over.

What the store cannot do at the moment is no standstill: it ends with an error and is tried again.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from functools import cached_property


class Watchdog:
    """What is under way, and what is expected. Moments are of the event loop's clock."""

    def __init__(self) -> None:
        self._watched: dict[object, tuple[str, float]] = {}
        self._deadlines: dict[str, float] = {}

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        # Kept: to ask for it is a system call in Python 3.11.
        return asyncio.get_running_loop()

    @contextlib.contextmanager
    def watch(self, part: str) -> Iterator[None]:
        """Something that is to end soon goes on for the length of the block."""
        token = object()
        self._watched[token] = part, self._loop.time()
        try:
            yield
        finally:
            del self._watched[token]

    def arm(self, part: str, seconds: float) -> None:
        """This part is to say something, or that it rests, within so many seconds."""
        self._deadlines[part] = self._loop.time() + seconds

    def rest(self, part: str) -> None:
        """Nothing is expected of this part."""
        self._deadlines.pop(part, None)

    def stuck(self, limit: float) -> str | None:
        """What has stood still for longer than `limit` seconds, in words; None if nothing has."""
        now = self._loop.time()
        moments = [*self._watched.values(), *self._deadlines.items()]
        part, since = min(moments, key=lambda moment: moment[1], default=("", now))
        seconds = now - since
        return f"{part}: no sign of life for {seconds:.0f} s" if seconds > limit else None
