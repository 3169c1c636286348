"""Waiting for the work of other threads and processes, however slow the machine is.

No test asserts seconds. A test waits for an event, counts it, or moves the clock. If a test must
distinguish soon from late, its bound is a multiple of the time that the machine took for something
else in the same test (`Stopwatch`). Promises in seconds are measured by `tests.benchmarks`.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from functools import partial
from typing import Any

PATIENCE = 600.0
"""The seconds after which a test gives up. Only an event that never comes takes as long."""
PAUSE = 0.002
LONGEST_PAUSE = 0.02

What = str | Callable[[], Any]


class Stopwatch:
    """The seconds since its creation. Compare them with another stopwatch, never with a number."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._began


async def until(condition: Callable[[], Any], what: What = "", pause: float = PAUSE) -> Any:
    """Wait until `condition()` holds and return its result. Raise AssertionError after PATIENCE."""
    waited = Stopwatch()
    while not (found := condition()):
        pause = _next(pause, waited, condition, what)
        await asyncio.sleep(pause)
    return found


def wait_until(condition: Callable[[], Any], what: What = "", pause: float = PAUSE) -> Any:
    """Do the same as `until`, without an event loop."""
    waited = Stopwatch()
    while not (found := condition()):
        pause = _next(pause, waited, condition, what)
        time.sleep(pause)
    return found


async def until_all(count: Callable[[], int], wanted: int, what: str) -> None:
    """Wait until `count()` is `wanted`, for as long as the count keeps changing.

    Raise AssertionError if it has not changed for PATIENCE.
    """
    while (known := count()) != wanted:
        changed = partial(lambda before: count() != before, known)
        await until(changed, f"{what}: {known} of {wanted}", 0.2)


def _next(pause: float, waited: Stopwatch, condition: Callable[[], Any], what: What) -> float:
    """Return the seconds until the next check.

    The pauses grow, because constant checks take time from the work under test.
    """
    if waited.seconds() > PATIENCE:
        found = what() if callable(what) else what
        raise AssertionError(f"waited in vain: {found or inspect.getsource(condition).strip()}")
    return max(pause, min(pause * 1.1, LONGEST_PAUSE))
