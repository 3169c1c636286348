"""PgBouncer between tocsin and PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from engines import opened_store
from ports import free_port
from postgres_databases import database
from psycopg.conninfo import conninfo_to_dict
from waiting import until, wait_until

from store import Connection, Store, open_store
from store.database.postgres.server_sessions import process_id
from store.errors import Unusable
from store.pg_migration.target_connection import TargetConnection

LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
needs_pooler = pytest.mark.skipif(
    shutil.which("pgbouncer") is None, reason="pgbouncer is not installed"
)


@contextmanager
def pooled(mode: str, more: str = "") -> Iterator[str]:
    """Run PgBouncer before a new database. Yield the URL of the database behind it."""
    with database() as direct, tempfile.TemporaryDirectory() as folder:
        given = conninfo_to_dict(direct)
        server = " ".join(f"{key}={given[key]}" for key in given.keys() - {"dbname"} if given[key])
        config, port = Path(folder) / "pgbouncer.ini", free_port()
        config.write_text(
            f"[databases]\n* = {server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
            f"{more}\n"
        )
        with _running(config, str(given["host"])):
            url = f"postgresql://postgres@127.0.0.1:{port}{urlsplit(direct).path}"
            wait_until(lambda: _connects(url), "PgBouncer", pause=0.05)
            yield url


@contextmanager
def _running(config: Path, host: str) -> Iterator[None]:
    command = ["pgbouncer", "-q", str(config)]
    if os.geteuid() == 0:
        # It refuses to run as root. The owner of the server's socket can reach the server.
        owner = Path(host).owner() if host.startswith("/") else "nobody"
        command[1:1] = ["-u", owner]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def _connects(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def limits(db: Connection) -> list[str]:
    return [db.value("SELECT current_setting(:name)", name=name) for name in LIMITS]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with pooled("session") as url, opened_store(url, tmp_path) as opened:
        yield opened


@needs_pooler
class TestSessionPooling:
    def test_limits_of_sessions_are_in_force(self, store: Store) -> None:
        for use in (store.write_sync, store.read_sync):
            assert use(limits) == ["10s", "1min", "1min"]

    async def test_a_notification_reaches_its_listener(self, store: Store) -> None:
        reported: list[list[int]] = []
        end = await store.listen(reported.append)
        store.engine.remote_notifier().wake([7])
        await until(lambda: reported == [[7]], "the notification")
        end()


@needs_pooler
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_that_shares_sessions_is_refused(tmp_path: Path, mode: str) -> None:
    with pooled(mode) as url:
        with pytest.raises(Unusable, match="set its pool mode to session"):
            open_store(url, data_dir=tmp_path)
        with pytest.raises(Unusable, match="set its pool mode to session"):
            TargetConnection(url)


@needs_pooler
def test_a_pooler_that_lends_its_sessions_in_turn_is_refused(tmp_path: Path) -> None:
    with pooled("transaction", "server_round_robin = 1") as url:
        with psycopg.connect(url) as one, psycopg.connect(url) as other:
            assert process_id(one) != process_id(other)
        with pytest.raises(Unusable, match="set its pool mode to session"):
            open_store(url, data_dir=tmp_path)


@pytest.mark.parametrize(
    "written",
    ["-c lock_timeout=3s", "-clock_timeout=3s", "--lock-timeout=3s", "-c LOCK_TIMEOUT=3s"],
)
def test_limits_that_a_url_names_take_precedence(tmp_path: Path, written: str) -> None:
    with database() as url, opened_store(with_options(url, written), tmp_path) as opened:
        assert opened.read_sync(limits) == ["3s", "1min", "1min"]


def test_a_setting_whose_name_ends_alike_is_another_one(tmp_path: Path) -> None:
    with database() as url:
        url = with_options(url, "-c deadlock_timeout=2s")
        with opened_store(url, tmp_path) as opened:
            assert opened.read_sync(limits) == ["10s", "1min", "1min"]


def with_options(url: str, written: str) -> str:
    return f"{url}&options={quote(written)}"
