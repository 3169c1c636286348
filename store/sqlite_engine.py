"""The embedded engine: one SQLite file, one process that delivers from it."""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from store import audit_guard, in_use
from store.clock import Clock
from store.connection import Session
from store.courier import Courier, Herald, hear, wake_path
from store.errors import Unusable
from store.sqlite import SqliteSession
from store.vault import Vault

# JSON operators came with 3.38; RETURNING and UPDATE FROM are older.
OLDEST = (3, 38, 0)


class SqliteEngine:
    """A SQLite file (store.connection.Engine)."""

    inline = True
    exclusive = True
    embedded = True

    def __init__(self, path: Path, vault: Vault, courier: Callable[[], Courier]) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise Unusable(f"SQLite {sqlite3.sqlite_version} is too old: {wanted} or newer")
        # Without the last word the highest id is given again once its row is gone, and a lease,
        # a hook or an event would be taken for the one that had it before.
        self.words = {
            "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
            "blob": "BLOB",
            **audit_guard.SQLITE,
        }
        self.clock = Clock()
        self.path = path
        self._vault = vault
        self._courier = courier
        self._shared: int | None = in_use.share(path)
        self._held: int | None = None
        self._herald: Herald | None = None

    def session(self, *, bounded: bool = False) -> Session:
        try:
            return SqliteSession(self.path, self._vault, self._courier, bounded=bounded)
        except sqlite3.Error as error:
            raise Unusable(f"cannot open the database {self.path}: {error}") from error

    def only_worker(self) -> bool:
        """Hold the lock file for as long as this process lives; a crash lets go of it."""
        if self._held is not None:
            return True
        path = in_use.worker_lock(self.path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held = descriptor
        return True

    def herald(self) -> Courier:
        if self._herald is None:
            self._herald = Herald(wake_path(self.path))
        return self._herald

    async def hear(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        return await hear(wake_path(self.path), called)

    def close(self) -> None:
        if self._herald is not None:
            self._herald.close()
            self._herald = None
        if self._held is not None:
            os.close(self._held)
            self._held = None
        if self._shared is not None:
            os.close(self._shared)
            self._shared = None
