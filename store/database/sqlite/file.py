"""Inspection of a SQLite file without opening it as a store."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from store.database.migrations import steps, summarize
from store.database.sqlite.errors import cannot_open, is_damage
from store.database.sqlite.lost_content import log_path
from store.errors import Unusable

# The limit of problems reported for a file.
MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """A summary of a database. `latest` is when the last event was received, in microseconds."""

    events: int
    latest: int | None
    step: int
    closed: str | None


@contextlib.contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection for the length of the block."""
    # A path may be no UTF-8.
    name = quote(os.fsencode(path.resolve()))
    raw = sqlite3.connect(f"file:{name}?mode=ro", uri=True, timeout=10)
    try:
        yield raw
    finally:
        raw.close()


def verify_database(path: Path, name: Path) -> DatabaseSummary:
    """Check the whole file and return a summary. `name` stands for it in messages.

    Raises Unusable if the file is damaged or is not a database of tocsin. Raises KeyboardInterrupt
    if a signal interrupts the check.
    """
    try:
        with open_read_only(path) as raw:
            # Python handles signals in this call only. The check of a large file takes minutes.
            raw.set_progress_handler(lambda: False, 100_000)
            problems = find_damage(raw)
            if problems:
                raise Unusable(f"{name} is damaged: {'; '.join(problems)}")
            return _found(raw, name)
    except sqlite3.Error as error:
        if _is_interruption(error):
            raise KeyboardInterrupt from None
        raise Unusable(f"{name} cannot be read: {error}") from error


def _is_interruption(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT


def find_damage(raw: sqlite3.Connection) -> list[str]:
    """Return the problems of the file, in SQLite's words."""
    # Backups, restores and the doctor must agree, so that a restore accepts each backup. The faster
    # `quick_check` finds no index that differs from its table.
    said = [str(row[0]) for row in raw.execute(f"PRAGMA integrity_check({MOST_TOLD})")]
    dangling = raw.execute("PRAGMA foreign_key_check").fetchmany(MOST_TOLD)
    return [line for line in said if line != "ok"] + [
        f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is not there"
        for row in dangling
    ]


def find_damage_within(path: Path, seconds: float | None) -> tuple[list[str], bool]:
    """Return the problems found within `seconds`, and whether the check was completed.

    With None, the check takes as long as it needs.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    try:
        with open_read_only(path) as raw:
            if ends is not None:
                raw.set_progress_handler(lambda: time.monotonic() > ends, 100_000)
            return find_damage(raw), True
    except sqlite3.Error as error:
        if _is_interruption(error):
            return [], False
        if not is_damage(error):
            raise cannot_open(path, error) from error
        return [str(error)], True


def _found(raw: sqlite3.Connection, name: Path) -> DatabaseSummary:
    tables = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"migration", "event"} <= tables:
        raise Unusable(f"{name} is no database of tocsin's")
    events, latest = raw.execute("SELECT count(*), max(received_at) FROM event").fetchone()
    step, closed = migration_state(raw)
    return DatabaseSummary(events, latest, step, closed)


def migration_state(raw: sqlite3.Connection) -> tuple[int, str | None]:
    """Return the newest applied migration, and the reason if the database is closed, else None."""
    return summarize(dict(raw.execute("SELECT number, name FROM migration").fetchall()))


def newest_migration() -> int:
    """Return the newest migration that this program knows."""
    return steps()[-1][0]


def size(path: Path) -> int:
    """Return the size of a database in bytes, with its write-ahead log."""
    beside = log_path(path)
    return path.stat().st_size + (beside.stat().st_size if beside.exists() else 0)
