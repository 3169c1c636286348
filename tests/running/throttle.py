"""How many tests run at once. It follows the time that processors are idle."""

import os
import time
from collections.abc import Callable
from pathlib import Path

# Its first line has the processor time since the start of the machine. These fields are idle.
TIMES = Path("/proc/stat")
IDLE = (4, 5)
# Seconds between two looks. The kernel counts in hundredths of a second.
INTERVAL = 1.0
# If the share of idle time is larger than MUCH, one more test may run at once. If it is larger than
# HALF, two more may. If it is smaller than LITTLE, one less may.
MUCH, HALF, LITTLE = 0.06, 0.5, 0.01


class Throttle:
    """The number of workers that may run tests at once, from `fewest` to `most`.

    Tests that wait leave the processors to others. Tests that compute only push each other's
    memory out of the processors' caches, if more of them run than there are processors.
    """

    def __init__(
        self,
        fewest: int,
        most: int,
        times: Callable[[], tuple[float, float]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`times` returns the idle time and all time, in any unit. `now` returns seconds."""
        self.allowed = (fewest + most) // 2
        self._fewest, self._most = fewest, most
        self._times, self._now = times or processor_times, now
        self._looked = now()
        self._last = self._times()

    def look(self) -> None:
        """If the interval has passed, change `allowed`."""
        if self._fewest == self._most or self._now() - self._looked < INTERVAL:
            return
        self._looked = self._now()
        (idle_before, all_before), self._last = self._last, self._times()
        idle, everything = self._last
        passed = everything - all_before
        if passed <= 0:
            return
        share = (idle - idle_before) / passed
        change = (share > MUCH) + (share > HALF) - (share < LITTLE)
        self.allowed = min(self._most, max(self._fewest, self.allowed + change))


def throttle_of(workers: str) -> Throttle:
    """Return the throttle for a number of workers, or for `auto`."""
    if workers != "auto":
        return Throttle(int(workers), int(workers))
    processors = len(os.sched_getaffinity(0))
    if not TIMES.exists():
        return Throttle(2 * processors, 2 * processors)
    return Throttle(processors + 1, 4 * processors)


def processor_times() -> tuple[float, float]:
    """Return the idle time of all processors and all their time, in ticks of the kernel."""
    if not TIMES.exists():
        return 0.0, 0.0
    with TIMES.open() as file:
        fields = file.readline().split()
    return sum(float(fields[at]) for at in IDLE), sum(map(float, fields[1:9]))
