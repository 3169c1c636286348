"""The driver's errors, translated into the store's errors."""

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

from store.database.connection import ReadBudgetExceeded
from store.errors import Unavailable

PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
}


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_INTERRUPT:
            raise ReadBudgetExceeded from None
        if code & 0xFF in PASSING:
            raise Unavailable(f"the database cannot be used right now: {error}") from error
        raise
    except sqlite3.IntegrityError as error:
        # Triggers reject writes to a database that was migrated away, and changes of the audit log.
        if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
            raise Unavailable(str(error)) from error
        raise


class Rows(sqlite3.Cursor):
    """A cursor whose fetches translate errors, too: SQLite computes rows as they are fetched."""

    def fetchone(self) -> Any:
        with translate_errors():
            return super().fetchone()

    def fetchall(self) -> list[Any]:
        with translate_errors():
            return super().fetchall()
