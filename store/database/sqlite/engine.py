"""The embedded engine: one SQLite file, and one process that delivers from it."""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from store.clock import Clock
from store.crypto import owned_files
from store.crypto.vault import Vault
from store.database import audit_triggers
from store.database.connection import Session
from store.database.notifications import (
    SocketNotifier,
    StoreNotifier,
    WorkerNotifier,
    hub_socket_path,
    listen,
    worker_socket_path,
)
from store.database.sqlite import open_files
from store.database.sqlite.connections import SqliteSession
from store.database.sqlite.errors import cannot_open
from store.database.sqlite.lost_content import require_content
from store.errors import Unusable

# JSON operators need 3.38. RETURNING and UPDATE FROM are older.
OLDEST = (3, 38, 0)


class SqliteEngine:
    """A SQLite file (store.database.connection.Engine)."""

    inline = True
    single_worker = True
    embedded = True

    def __init__(self, path: Path, vault: Vault, notifier: Callable[[], StoreNotifier]) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise Unusable(f"SQLite {sqlite3.sqlite_version} is too old: {wanted} or newer")
        require_content(path)
        # Without AUTOINCREMENT, SQLite reuses the highest id once its row is deleted. A new lease,
        # hook or event could then be confused with the former one.
        self.words = {
            "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
            "blob": "BLOB",
            "text": "TEXT",
            **audit_triggers.SQLITE,
        }
        self.clock = Clock()
        self.path = path
        self._vault = vault
        self._notifier = notifier
        self._shared: int | None = open_files.acquire_shared_lock(path)
        self._held: int | None = None
        self._remote_notifier: SocketNotifier | None = None
        self._waiters_notifier: SocketNotifier | None = None

    def session(self) -> Session:
        try:
            return SqliteSession(self.path, self._vault, self._notifier)
        except sqlite3.Error as error:
            raise cannot_open(self.path, error) from error

    def acquire_worker_lock(self) -> bool:
        """Lock the worker's lock file for as long as this process lives. A crash releases it."""
        if self._held is not None:
            return True
        path = open_files.worker_lock_path(self.path)
        descriptor = owned_files.open_file(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held = descriptor
        open_files.write_holder(descriptor)
        return True

    def worker_lock_holder(self) -> str:
        return open_files.worker_lock_holder(self.path)

    def remote_notifier(self) -> WorkerNotifier:
        if self._remote_notifier is None:
            self._remote_notifier = SocketNotifier(
                worker_socket_path(self.path), hub_socket_path(self.path)
            )
        return self._remote_notifier

    async def listen(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        return await listen(worker_socket_path(self.path), called)

    def waiters_notifier(self) -> WorkerNotifier:
        if self._waiters_notifier is None:
            self._waiters_notifier = SocketNotifier(hub_socket_path(self.path))
        return self._waiters_notifier

    async def listen_for_waiters(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        return await listen(hub_socket_path(self.path), called)

    def disconnect(self) -> None:
        """Do nothing: no server answers."""

    def close(self) -> None:
        if self._remote_notifier is not None:
            self._remote_notifier.close()
            self._remote_notifier = None
        if self._waiters_notifier is not None:
            self._waiters_notifier.close()
            self._waiters_notifier = None
        if self._held is not None:
            os.close(self._held)
            self._held = None
        if self._shared is not None:
            os.close(self._shared)
            self._shared = None
