"""The watchdog of the delivery loop. Its parts report their work, and when it must be done.

An outage of the store does not count as a standstill: the call ends with an error and is repeated.
"""

import contextlib
from collections.abc import Iterator

from worker.loop_bound import LoopBound


class Watchdog(LoopBound):
    """The work under way, and the deadlines of each part.

    Times are in seconds of the event loop's clock.
    """

    def __init__(self) -> None:
        self._watched: dict[object, tuple[str, float]] = {}
        self._deadlines: dict[str, float] = {}

    @contextlib.contextmanager
    def watch(self, part: str) -> Iterator[None]:
        """Watch the block, which is expected to end soon."""
        token = object()
        self._watched[token] = part, self._loop.time()
        try:
            yield
        finally:
            del self._watched[token]

    def arm(self, part: str, seconds: float) -> None:
        """Expect `arm` or `disarm` of this part within this many seconds."""
        self._deadlines[part] = self._loop.time() + seconds

    def disarm(self, part: str) -> None:
        """Expect nothing of this part."""
        self._deadlines.pop(part, None)

    def stalled(self, limit: float) -> str | None:
        """Return a message about the part that has been late for more than `limit` seconds.

        Return None if there is none.
        """
        now = self._loop.time()
        moments = [*self._watched.values(), *self._deadlines.items()]
        part, since = min(moments, key=lambda moment: moment[1], default=("", now))
        seconds = now - since
        return f"{part}: no sign of life for {seconds:.0f} s" if seconds > limit else None
