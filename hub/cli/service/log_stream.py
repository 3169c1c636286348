"""The end of the log: writing to standard error without waiting for its reader."""

import logging
import os
import select
import time
from typing import TextIO

# Seconds that a reader of the log may take to make room, and how many it gets back in a second.
PATIENCE, REGAINED = 1.0, 0.01


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes lines to a stream, and leaves out lines for which its reader makes no room.

    Otherwise a reader that hangs would stop the daemon at its next line, with all its deliveries.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._number = _number_of(stream)
        self._lost = 0
        self._torn = False
        self._patience, self._waited_at = PATIENCE, time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record. If earlier ones are missing, write their number before it."""
        if self._number is None:
            super().emit(record)
            return
        try:
            if (lost := self._lost) and self._has_room(self._number):
                self._lost = 0
                self._write(self._number, self.format(_missing(lost)))
            self._write(self._number, self.format(record))
        except Exception:
            self.handleError(record)

    def _write(self, number: int, line: str) -> None:
        text = ("\n" if self._torn else "") + line + self.terminator
        left = text.encode(self.stream.encoding, self.stream.errors or "strict")
        while left:
            # A pipe or a socket with any room takes this piece at once. Lines of several processes
            # do not mix in it.
            piece = left[: select.PIPE_BUF]
            try:
                written = os.write(number, piece) if self._has_room(number) else 0
            except BlockingIOError:
                written = 0
            if not written:
                self._lost += 1
                return
            left = left[written:]
            self._torn = bool(left)

    def _has_room(self, number: int) -> bool:
        room = select.poll()
        room.register(number, select.POLLOUT)
        began = time.monotonic()
        # A slow reader must not take a second for each line.
        regained = (began - self._waited_at) * REGAINED
        self._patience = min(PATIENCE, self._patience + regained)
        found = room.poll(int(self._patience * 1000))
        self._waited_at = time.monotonic()
        self._patience = max(0.0, self._patience - (self._waited_at - began))
        return bool(found)


def _number_of(stream: TextIO) -> int | None:
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return None
    try:
        # A terminal can have less room than a piece. Only this descriptor does not wait for more.
        return os.open(os.ttyname(number), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return number


def _missing(lost: int) -> logging.LogRecord:
    said = "%d records are missing here: standard error was not read in time"
    return logging.LogRecord("tocsin.serve", logging.WARNING, __file__, 0, said, (lost,), None)
