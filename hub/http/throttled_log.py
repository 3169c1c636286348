"""Throttled logging, for warnings that can occur thousands of times a second."""

import logging
import time

INTERVAL = 5.0


class ThrottledLog:
    """Logs the first of similar warnings, and afterwards their number, every few seconds.

    A log line for each failure could fill the very disk whose fullness it reports.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._again = 0.0
        self._left_out = 0

    def warning(self, message: str, *given: object) -> None:
        """Log the warning or count it."""
        now = time.monotonic()
        if now < self._again:
            self._left_out += 1
            return
        self._again = now + INTERVAL
        more, self._left_out = self._left_out, 0
        text = f"{message} (and {more:,} like it since the last such line)" if more else message
        self._log.warning(text, *given)
