"""The end of the log: writing to standard error without waiting for its reader."""

import logging
import select
from typing import TextIO

# Milliseconds that a reader of the log may take to make room.
PATIENCE = 1000
# A pipe or a socket with any room takes these characters at once, also if each has four bytes.
PORTION = select.PIPE_BUF // 4


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes lines to a stream, and leaves out lines for which its reader makes no room.

    Otherwise a reader that hangs would stop the daemon at its next line, with all its deliveries.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lost = 0
        self._torn = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record. If earlier ones are missing, write their number before it."""
        try:
            lost = self._lost
            if lost and self._has_room():
                self._lost = 0
                self._write(self.format(_missing(lost)))
            self._write(self.format(record))
        except Exception:
            self.handleError(record)

    def _write(self, line: str) -> None:
        text = ("\n" if self._torn else "") + line + self.terminator
        for at in range(0, len(text), PORTION):
            if not self._has_room():
                self._lost += 1
                return
            self.stream.write(text[at : at + PORTION])
            self.stream.flush()
            self._torn = at + PORTION < len(text)

    def _has_room(self) -> bool:
        try:
            number = self.stream.fileno()
        except (OSError, ValueError):
            return True
        room = select.poll()
        room.register(number, select.POLLOUT)
        return bool(room.poll(0 if self._lost else PATIENCE))


def _missing(lost: int) -> logging.LogRecord:
    said = "%d records are missing here: standard error was not read in time"
    return logging.LogRecord("tocsin.serve", logging.WARNING, __file__, 0, said, (lost,), None)
