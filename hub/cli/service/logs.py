"""Logging to standard error, one line for each record, for people or as JSON.

In a journal, each line begins with its severity. Control characters are escaped, so that foreign
text cannot begin a line or move the cursor. Text that looks like a credential is left out.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from hub.cli.service.log_stream import LogHandler
from store import clock
from store.accounts.tokens import KINDS
from store.database.log_context import LOG_CONTEXT

# syslog's severities. systemd's journal reads them from the beginning of a line.
SEVERITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
QUIET = {"uvicorn": logging.WARNING, "apscheduler": logging.WARNING, "httpx": logging.WARNING}
# The journal splits longer lines, and would take the rest for another record.
LONGEST = 30_000
MOST_MEMBER = 1_000
MOST_TEXT, SHORT_TEXT = 8_000, 600
# Characters that end a line, move a cursor or change the direction of writing.
CONTROLS = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for codes in ((0, 0x20), (0x7F, 0xA0), (0x2028, 0x202F), (0x2066, 0x206A))
    for code in range(*codes)
} | {ord("\r"): "\\r", ord("\n"): "\\n", ord("\t"): "\\t"}
# No code should log these in the first place; this is the second line of defence. Tokens of
# installations once began with `tsi_`.
SECRETS = (
    (re.compile(rf"\b({'|'.join(KINDS.values())}|tsi_)[0-9A-Za-z]{{36}}\b"), r"\1***"),
    (re.compile(r"\b(whsec_|whsk_)[0-9A-Za-z+/=]+"), r"\1***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[0-9a-z+/=._~-]{8,}"), r"\1 ***"),
    (re.compile(r"(://)[^/\s@:]*:[^/\s@]*@"), r"\1***@"),
    (re.compile(r"(https?://[^\s?\"'<>]+\?)[^\s\"'<>]+"), r"\1***"),
)


class LineFormatter(logging.Formatter):
    """Formats a record as `TIME LEVEL LOGGER MESSAGE [NAME=VALUE ...]`.

    A traceback follows on the same line with escaped line ends. For a journal, which has its own
    clock, `<SEVERITY>` replaces the time.
    """

    def __init__(self, *, journal: bool) -> None:
        start = "" if journal else "%(asctime)s "
        super().__init__(f"{start}%(levelname)s %(name)s %(message)s")
        self._journal = journal

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name for it
        return _time(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name for it
        about = " ".join(f"{name}={value}" for name, value in _about(record).items())
        return super().formatMessage(record) + (f" [{about}]" if about else "")

    def format(self, record: logging.LogRecord) -> str:
        line = redacted(super().format(record)).translate(CONTROLS)
        return _severity(record, self._journal) + _cut(line, LONGEST // 4)


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object.

    It has `ts`, `level`, `logger`, `message`, `exception`, and a context with members such as
    `request_id`, `delivery_id` and `hook_id`.
    """

    def __init__(self, *, journal: bool) -> None:
        super().__init__()
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        members: dict[str, Any] = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _cut(redacted(record.getMessage()), MOST_TEXT),
        }
        about = {name: _plain(value) for name, value in _about(record).items()}
        members = members | {name: about[name] for name in about.keys() - members.keys()}
        if record.exc_info:
            members["exception"] = _cut(redacted(self.formatException(record.exc_info)), MOST_TEXT)
        line = _dumped(members)
        if len(line) > LONGEST:
            line = _dumped(_shortened(members))
        return _severity(record, self._journal) + line


def _about(record: logging.LogRecord) -> Mapping[str, object]:
    said: Mapping[str, object] = getattr(record, "about", {})
    return {**LOG_CONTEXT.get({}), **said}


def _time(record: logging.LogRecord) -> str:
    return clock.iso_micro(int(record.created * clock.SECOND))


def _severity(record: logging.LogRecord, journal: bool) -> str:
    return f"<{SEVERITIES.get(record.levelname, 5)}>" if journal else ""


def redacted(text: str) -> str:
    """Return the text without the queries of URLs and without text that looks like a credential."""
    for pattern, shown in SECRETS:
        text = pattern.sub(shown, text)
    return text


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _cut(redacted(str(value)), MOST_MEMBER)


def _dumped(members: Mapping[str, Any]) -> str:
    # ASCII only, so that no reader takes a character for the end of a line.
    return json.dumps(members, ensure_ascii=True).replace("\x7f", "\\u007f")


def _shortened(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _cut(value, SHORT_TEXT) if isinstance(value, str) else value
        for name, value in members.items()
    }


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    # The end is kept because the end of a traceback has the error.
    head = most // 3
    return f"{text[:head]}...({len(text) - most} more)...{text[head - most :]}"


def set_up(level: str, form: str) -> None:
    """Log records of this level or a more severe one, in the format `human`, `json` or `auto`."""
    journal = is_journal()
    if form == "auto":
        form = "human" if journal or sys.stderr.isatty() else "json"
    handler = LogHandler(sys.stderr)
    kind = JsonFormatter if form == "json" else LineFormatter
    handler.setFormatter(kind(journal=journal))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLevelName(level.upper())))


def is_journal() -> bool:
    """Return whether standard error goes to systemd's journal."""
    named = os.environ.get("JOURNAL_STREAM")
    try:
        status = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return named == f"{status.st_dev}:{status.st_ino}"
