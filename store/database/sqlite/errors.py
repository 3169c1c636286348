"""The driver's errors, translated into the store's errors."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import NoReturn

from store.database.connection import ReadBudgetExceeded
from store.errors import Damaged, Full, NotUtf8, StoreError, Unavailable, Unusable

PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}

# SQLite has no code of its own for a quota of the file system that is used up.
NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE}

# The shared memory beside the file (-shm) needs this much, however little is read.
LEAST_FREE = 32 * 1024


def cannot_open(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the error for a database that cannot be opened, with the reason.

    SQLite calls a full disk an I/O error, and a read-only one a file that it cannot open.
    """
    said = f"cannot open the database {path}"
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    with contextlib.suppress(OSError):
        disk = os.statvfs(path.parent)
        if kind in PASSING and disk.f_flag & os.ST_RDONLY:
            return Unavailable(f"{said}: the file system is read-only")
        if kind in PASSING and disk.f_bavail * disk.f_frsize < LEAST_FREE:
            return Unavailable(f"{said}: the disk is full")
    if kind in PASSING and kind != sqlite3.SQLITE_CANTOPEN:
        return Unavailable(f"{said}: {error}")
    return Unusable(f"{said}: {error}")


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the error is about the file's content."""
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def translate(error: sqlite3.Error) -> NoReturn:
    """Raise the store's error in place of the driver's, or the driver's if there is none."""
    code = getattr(error, "sqlite_errorcode", 0)
    if isinstance(error, sqlite3.OperationalError):
        if code == sqlite3.SQLITE_INTERRUPT:
            raise ReadBudgetExceeded from None
        if code & 0xFF in PASSING:
            kind = Full if code in NO_ROOM else Unavailable
            raise kind(f"the database cannot be used right now: {error}") from error
        # Python's driver raises this, and SQLite has no code for it.
        if not code and "decode to UTF-8" in str(error):
            raise NotUtf8(f"the database holds a text that is not UTF-8: {error}") from error
    if is_damage(error):
        raise Damaged(
            f"the database is damaged ({error}): stop tocsin, and restore a backup with"
            " `tocsin restore`. `tocsin doctor` names the damage"
        ) from error
    # Triggers reject writes to a database that was migrated away, and changes of the audit log.
    if code == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        raise Unavailable(str(error)) from error
    raise error
