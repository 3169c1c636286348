"""A copy of a SQLite database as it is at one moment, made while others write to it."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

# Pages copied at a time: a few megabytes.
PAGES = 2_000

ProgressCallback = Callable[[int, int], None]
"""Called with how many pages are copied, and how many there are."""


def copy_database(path: Path, target: Path, tell: ProgressCallback | None = None) -> None:
    """Copy a database, with whatever is committed by now, to one file on disk that needs no other.

    Nobody waits for it: it reads what was there when it began, while others write.
    """
    with (
        contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as source,
        contextlib.closing(sqlite3.connect(target)) as copied,
    ):
        # Without a transaction of its own it would begin anew whenever something is written.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        progress = None if tell is None else _backup_progress(tell)
        source.backup(copied, pages=PAGES, progress=progress, sleep=0.01)
        # On its own it is one file, wherever it is put.
        copied.execute("PRAGMA journal_mode = DELETE")
    fsync(target)


def _backup_progress(tell: ProgressCallback) -> Callable[[int, int, int], None]:
    return lambda status, remaining, total: tell(total - remaining, total)


def fsync(path: Path) -> None:
    """Have what was written to a file or a directory on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(path: Path) -> None:
    """An empty file that its owner alone may read and write."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    path.chmod(0o600)


def chown_like(model: Path, *paths: Path) -> None:
    """Give files to who owns another one, where it is an administrator that made them."""
    if os.geteuid() != 0:
        return
    status = model.stat()
    for path in paths:
        os.chown(path, status.st_uid, status.st_gid)
