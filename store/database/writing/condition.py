"""The condition of the database, as the transactions of this process meet it."""

import time
from collections.abc import Callable

from store.errors import Damaged, Full

# Seconds for which a lack of room is remembered, unless a write as large succeeds.
REMEMBERED = 30.0
# A write that is so many times larger than usual may have no room where usual ones have some.
UNUSUAL = 10
# In bytes. A disk without room for so much is full, whatever is usual.
LARGE = 1024 * 1024
# The usual size is the mean of about so many writes.
LATEST_WRITES = 100


class DatabaseCondition:
    """Damage and lack of room since the store was opened. Any thread may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.damage = ""
        """The first damage that a transaction met, or "". Later successes do not end it, because
        they read other pages."""
        self.on_damage: Callable[[], object] = lambda: None
        """Called once, on the thread that met the damage."""
        self._lack: tuple[float, int, str] | None = None
        self._writes, self._usual = 0, 0.0

    @property
    def lack(self) -> str:
        """Return why writes fail for lack of room, or ""."""
        lack = self._lack
        return lack[2] if lack is not None and self.clock() < lack[0] else ""

    def note(self, error: BaseException | None, size: int = 0) -> None:
        """Note the error of a transaction, or the success of a write of `size` bytes.

        A file that has no room for a large write may have room for small ones. So only a write as
        large as the one that failed shows that there is room again. A lack of room for a write of
        unusual size is none, because its sender may send it again and again.
        """
        if size:
            self._count(size)
        lack = self._lack
        if error is None:
            if lack is not None and size >= lack[1]:
                self._lack = None
        elif isinstance(error, Full) and size <= max(UNUSUAL * self._usual, LARGE):
            # A lack that is over leaves its size behind.
            largest = max(size, lack[1]) if lack is not None and self.lack else size
            self._lack = self.clock() + REMEMBERED, largest, str(error)
        elif isinstance(error, Damaged) and not self.damage:
            self.damage = str(error)
            self.on_damage()

    def _count(self, size: int) -> None:
        """Count a write among the latest ones. If only successes counted, the large writes that
        fail would soon be unusual.
        """
        self._writes = min(self._writes + 1, LATEST_WRITES)
        self._usual += (size - self._usual) / self._writes
