"""The report of a test that hangs: the stacks of all threads. Then its process ends.

pytest's own option for this starts a thread with each test, which takes as long as a small test.
"""

import faulthandler
import os
import sys
import time
from collections.abc import Generator
from typing import Any

import pytest

# Seconds between two renewals of the timer. A test may be ended so many seconds too early.
RENEWAL = 60.0


class HangReport:
    """A plugin that ends the process if a test takes `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._renewed = -RENEWAL
        # pytest captures the usual stderr while a test runs.
        self._stderr = os.dup(sys.stderr.fileno())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        now = time.monotonic()
        if now - self._renewed >= min(RENEWAL, self._seconds):
            self._renewed = now
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=self._stderr)
        return (yield)

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)
