"""Logging: one line a record on standard error, with the severity where a journal looks for it."""

import logging
import os
import sys

from store import clock

# syslog's severities, which systemd's journal takes from the beginning of a line.
SEVERITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
QUIET = {"uvicorn": logging.WARNING, "apscheduler": logging.WARNING, "httpx": logging.WARNING}


class Lines(logging.Formatter):
    """`TIME LEVEL LOGGER MESSAGE`; a traceback follows on the same line, its newlines written out.

    In a journal, which has its own clock, `<SEVERITY>` stands in the time's place.
    """

    def __init__(self, *, journal: bool) -> None:
        start = "" if journal else "%(asctime)s "
        super().__init__(f"{start}%(levelname)s %(name)s %(message)s")
        self._journal = journal

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name for it
        return clock.iso_micro(int(record.created * clock.SECOND))

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record).replace("\r", "\\r").replace("\n", "\\n")
        return f"<{SEVERITIES.get(record.levelname, 5)}>{line}" if self._journal else line


def set_up(level: str) -> None:
    """Log what is of this level or more severe."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(journal=_in_journal()))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLevelName(level.upper())))


def _in_journal() -> bool:
    """Whether standard error is the journal's stream, as systemd says it is."""
    named = os.environ.get("JOURNAL_STREAM")
    try:
        status = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return named == f"{status.st_dev}:{status.st_ino}"
