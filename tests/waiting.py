"""Waiting for what other threads and processes do: until it is done, however slow the machine is.

No test asserts seconds. A test waits for what happens, counts it, or moves the clock; where it must
tell soon from late, the bound is a multiple of what the machine took for something else in the same
test (`Stopwatch`). What is promised in seconds is measured by `tests.benchmarks`.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0
"""Seconds after which a test gives up: nothing takes as long, but for what never comes."""
PAUSE = 0.002
LONGEST_PAUSE = 0.02

What = str | Callable[[], Any]


class Stopwatch:
    """Counts seconds from now on: to compare with another one's, never with a number."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._began


async def until(condition: Callable[[], Any], what: What = "", pause: float = PAUSE) -> Any:
    """Wait until `condition()` holds and return what it found. AssertionError after PATIENCE."""
    waited = Stopwatch()
    while not (found := condition()):
        pause = _next(pause, waited, condition, what)
        await asyncio.sleep(pause)
    return found


def wait_until(condition: Callable[[], Any], what: What = "", pause: float = PAUSE) -> Any:
    """The same without an event loop."""
    waited = Stopwatch()
    while not (found := condition()):
        pause = _next(pause, waited, condition, what)
        time.sleep(pause)
    return found


async def until_all(count: Callable[[], int], wanted: int, what: str) -> None:
    """Wait until `count()` is `wanted`, as long as it changes: much may take its time.
    AssertionError after PATIENCE in which it has not changed.
    """
    while (known := count()) != wanted:
        await until(lambda known=known: count() != known, f"{what}: {known} of {wanted}", 0.2)


def _next(pause: float, waited: Stopwatch, condition: Callable[[], Any], what: What) -> float:
    """Seconds until the next look: asking without end takes time from those at work."""
    if waited.seconds() > PATIENCE:
        found = what() if callable(what) else what
        raise AssertionError(f"waited in vain: {found or inspect.getsource(condition).strip()}")
    return max(pause, min(pause * 1.1, LONGEST_PAUSE))
