"""Copies of a SQLite database at one moment, while others write to it."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

# Pages copied at a time: a few megabytes.
PAGES = 2_000

ProgressCallback = Callable[[int, int], None]
"""Called with the number of copied pages and the number of all pages."""


def copy_database(path: Path, target: Path, on_progress: ProgressCallback | None = None) -> None:
    """Copy a database with everything committed to one file, and sync it to disk.

    Writers do not wait for the copy, because it reads the database as it was at the start.
    """
    with (
        contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as source,
        contextlib.closing(sqlite3.connect(target)) as copied,
    ):
        # Without its own transaction, the copy would start again whenever something is written.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        progress = None if on_progress is None else _backup_progress(on_progress)
        source.backup(copied, pages=PAGES, progress=progress, sleep=0.01)
        # Without WAL mode, the copy is a single file.
        copied.execute("PRAGMA journal_mode = DELETE")
    fsync(target)


def _backup_progress(on_progress: ProgressCallback) -> Callable[[int, int, int], None]:
    return lambda status, remaining, total: on_progress(total - remaining, total)


def fsync(path: Path) -> None:
    """Sync a file or a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(path: Path) -> None:
    """Create an empty file that only its owner may read and write, instead of the one there.

    A user may have placed a link there, for root to follow.
    """
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


@contextlib.contextmanager
def temporary_file(path: Path, content: bytes) -> Iterator[None]:
    """Create a private file, synced to disk, instead of the one there. Delete it at the end, unless
    the block has renamed it.
    """
    try:
        make_private(path)
        path.write_bytes(content)
        fsync(path)
        yield
    finally:
        path.unlink(missing_ok=True)


def chown_like(model: Path, *paths: Path) -> None:
    """Give files to the owner of another file, if this process is root. Links are not followed."""
    if os.geteuid() != 0:
        return
    status = model.stat()
    for path in paths:
        os.chown(path, status.st_uid, status.st_gid, follow_symlinks=False)
