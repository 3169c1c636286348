"""SQLite: its files, encryption at rest, locks, durability, and query plans."""

import asyncio
import gc
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from engines import opened_store
from store_world import URL, FakeNotifier, Gate, World

from store import Connection, Store, open_store
from store.accounts import accounts, tokens
from store.database import uuid7
from store.database.sqlite import connections, engine, private_file
from store.database.sqlite.connections import SqliteSession
from store.database.sqlite.errors import translate
from store.delivery import (
    attempts,
    deliveries,
    event_queries,
    events,
    leases,
    retention,
    sources,
)
from store.delivery.outcomes import attempt_outcomes
from store.errors import Full, Unavailable, Unusable
from store.hooks import hook_queries, hooks
from store.monitoring import diagnosis
from store.repositories import repositories

TABLES = {
    "account", "attempt", "collaborator", "delivery", "event", "hook", "lease", "membership",
    "repository", "source", "subscription", "token",
}  # fmt: skip


@pytest.fixture
def url() -> str:
    return "sqlite"


@pytest.fixture
def path(store: Store, tmp_path: Path) -> Path:
    return tmp_path / "data" / "tocsin.db"


@pytest.fixture
def sessions(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[SqliteSession]:
    """The sessions that are opened from now on. They wait 50 ms for a lock."""
    opened: list[SqliteSession] = []
    real = store.engine.session

    def session() -> SqliteSession:
        made = real()
        made.run("PRAGMA busy_timeout = 50", [])
        opened.append(made)
        return made

    monkeypatch.setattr(store.engine, "session", session)
    return opened


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Every statement that is run from now on, with its parameters."""
    seen: list[tuple[str, Any]] = []
    real = SqliteSession.run

    def run(self: SqliteSession, sql: str, parameters: Any) -> sqlite3.Cursor:
        seen.append((sql, parameters))
        return real(self, sql, parameters)

    monkeypatch.setattr(SqliteSession, "run", run)
    return seen


def logins(store: Store) -> list[str]:
    return [row["login"] for row in store.read_sync(accounts.list_all)]


def on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob("tocsin.db*"))


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


class TestTheFile:
    def test_the_database_file_is_in_the_data_directory(self, tmp_path: Path) -> None:
        open_store("sqlite", data_dir=tmp_path / "a" / "b").shut()
        assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
        assert (tmp_path / "a" / "b" / "tocsin.db").exists()

    @pytest.mark.parametrize("mask", [0o000, 0o022])
    def test_database_files_are_private_even_in_an_open_directory(
        self, tmp_path: Path, mask: int
    ) -> None:
        before = os.umask(mask)
        try:
            tmp_path.chmod(0o755)
            store = open_store("sqlite", data_dir=tmp_path)
            store.write_sync(lambda db: accounts.create(db, "ada"))
            found = modes(tmp_path)
            store.shut()
        finally:
            os.umask(before)
        assert {"tocsin.db", "tocsin.db-wal", "tocsin.db-shm", "secret.key"} <= found.keys()
        assert set(found.values()) == {0o600}

    def test_database_files_open_to_others_become_private(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        first = open_store("sqlite", data_dir=tmp_path)
        first.write_sync(lambda db: accounts.create(db, "ada"))
        for path in tmp_path.glob("tocsin.db*"):
            path.chmod(0o644)
        open_store("sqlite", data_dir=tmp_path).shut()
        assert set(modes(tmp_path).values()) == {0o600}
        first.shut()
        assert caplog.text.count("was open to others (mode 644)") == 3
        caplog.clear()
        open_store("sqlite", data_dir=tmp_path).shut()
        assert not caplog.text

    def test_a_key_file_open_to_others_becomes_private(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        open_store("sqlite", data_dir=tmp_path).shut()
        key, mounted = tmp_path / "secret.key", tmp_path / "mounted.key"
        mounted.write_bytes(key.read_bytes())
        for path in (key, mounted):
            path.chmod(0o644)
        open_store("sqlite", data_dir=tmp_path, key_file=mounted).shut()
        assert modes(tmp_path)["mounted.key"] == 0o644
        open_store("sqlite", data_dir=tmp_path).shut()
        assert modes(tmp_path)["secret.key"] == 0o600
        assert caplog.text.count("was open to others (mode 644)") == 1

    def test_a_file_or_folder_that_is_no_database_keeps_its_mode(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "letter").write_text("Dear Ada, the bells ring. " * 40)
        for name, mode in (("folder", 0o777), ("letter", 0o644)):
            path = tmp_path / name
            path.chmod(mode)
            with pytest.raises(Unusable, match=r"not a (file|database)"):
                open_store(f"sqlite://{path}", data_dir=tmp_path / "data")
            assert stat.S_IMODE(path.stat().st_mode) == mode

    def test_a_database_file_behind_a_link_is_private(self, tmp_path: Path) -> None:
        there = tmp_path / "there"
        there.mkdir()
        (tmp_path / "tocsin.db").symlink_to(there / "real.db")
        open_store("sqlite", data_dir=tmp_path).shut()
        assert modes(there)["real.db"] == 0o600

    def test_the_database_file_can_be_outside_the_data_directory(self, tmp_path: Path) -> None:
        elsewhere = tmp_path / "other.sqlite"
        open_store(f"sqlite://{elsewhere}", data_dir=tmp_path / "data").shut()
        assert elsewhere.exists()
        assert [file.name for file in (tmp_path / "data").iterdir()] == ["secret.key"]

    def test_a_missing_database_is_refused_and_not_made_without_create(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(Unusable, match="tocsin serve"):
            open_store("sqlite", data_dir=tmp_path / "data", create=False)
        assert list(tmp_path.iterdir()) == []

    def test_an_existing_database_opens_without_create(self, tmp_path: Path) -> None:
        open_store("sqlite", data_dir=tmp_path).shut()
        open_store("sqlite", data_dir=tmp_path, create=False).shut()

    def test_a_file_that_is_no_database_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "tocsin.db"
        path.write_bytes(b"somebody's notes, and long ones: " * 100)
        with pytest.raises(Unusable, match=r"tocsin\.db.*not a database"):
            open_store("sqlite", data_dir=tmp_path)
        assert path.read_bytes() == b"somebody's notes, and long ones: " * 100
        gc.collect()

    def test_a_database_in_a_missing_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(Unusable, match="cannot open the database"):
            open_store(f"sqlite://{tmp_path}/missing/x.db", data_dir=tmp_path)

    def test_connections_use_wal_full_sync_and_foreign_keys(self, store: Store) -> None:
        def pragmas(db: Connection) -> list[Any]:
            names = ("journal_mode", "synchronous", "foreign_keys")
            return [db.value(f"PRAGMA {name}") for name in names]

        assert store.write_sync(pragmas) == ["wal", 2, 1]

    def test_waits_for_another_process_that_makes_it(self, tmp_path: Path) -> None:
        path = tmp_path / "tocsin.db"
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("CREATE TABLE theirs (id INTEGER PRIMARY KEY)")
            other.execute("BEGIN IMMEDIATE")
            over = threading.Timer(0.3, other.rollback)
            over.start()
            open_store("sqlite", data_dir=tmp_path).shut()
            over.join()

    def test_an_old_sqlite_library_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "OLDEST", (99, 1, 0))
        with pytest.raises(Unusable, match=r"99\.1\.0 or newer"):
            open_store("sqlite", data_dir=tmp_path)

    def test_enforces_foreign_keys(self, world: World) -> None:
        with pytest.raises(sqlite3.IntegrityError):
            world.store.write_sync(repositories.create, 99, "orphan")


class TestAtRest:
    """Secrets cannot be read from a stolen disk."""

    def test_a_token_is_nowhere_in_the_file(self, world: World, path: Path) -> None:
        value, _ = world.store.write_sync(tokens.create, world.user["id"], note="findable")
        world.store.read_sync(tokens.find, value)
        content = on_disk(path)
        assert b"findable" in content
        assert value.encode() not in content
        assert value[4:-8].encode() not in content

    def test_secrets_are_nowhere_in_the_file(self, world: World, path: Path) -> None:
        made = world.hook("push", secret="hooks-secret-1", url=URL)
        world.store.write_sync(
            lambda db: hooks.update(
                db, hooks.get(db, world.repo["id"], made["id"]), secret="hooks-secret-2"
            )
        )
        world.store.write_sync(sources.create, "forge", "sources-secret")
        world.store.write_sync(accounts.create, "bob", password="bobs-secret")
        content = on_disk(path)
        assert URL.encode() in content
        assert b"-secret" not in content

    def test_the_key_is_not_in_the_database(self, world: World, path: Path) -> None:
        world.hook("push", secret="s3cret")
        key = (path.parent / "secret.key").read_bytes().strip()
        assert key not in on_disk(path)

    def test_another_key_is_reported_and_opens_nothing(self, world: World, path: Path) -> None:
        world.hook("push", secret="s3cret")
        key = path.parent / "secret.key"
        key.write_bytes(Fernet.generate_key())
        with pytest.raises(Unusable, match="restore the key file"):
            open_store("sqlite", data_dir=path.parent)
        key.unlink()
        with pytest.raises(Unusable, match=r"secret\.key is missing, and this database holds"):
            open_store("sqlite", data_dir=path.parent)
        assert not key.exists(), "a lost key is not replaced"

    def test_processes_that_begin_at_once_share_a_key(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        restrict = private_file.restrict

        def begin_another(path: Path) -> None:
            monkeypatch.setattr(private_file, "restrict", restrict)
            with opened_store("sqlite", tmp_path) as other:
                other.write_sync(sources.create, "forge", "its-secret")
            restrict(path)

        monkeypatch.setattr(private_file, "restrict", begin_another)
        with opened_store("sqlite", tmp_path) as store:
            store.write_sync(sources.create, "another", "another-secret")
        with opened_store("sqlite", tmp_path) as store:
            assert store.read_sync(diagnosis.undecryptable_secrets) == {}

    def test_a_key_is_made_where_nothing_needs_another(self, world: World, path: Path) -> None:
        (path.parent / "secret.key").unlink()
        open_store("sqlite", data_dir=path.parent).shut()
        world.hook("push", secret="s3cret")
        open_store("sqlite", data_dir=path.parent).shut()


class TestOneWorker:
    def test_one_store_at_a_time_holds_the_worker_lock(self, opened: Callable[[], Store]) -> None:
        first, second = opened(), opened()
        assert first.engine.acquire_worker_lock()
        assert first.engine.acquire_worker_lock()
        assert not second.engine.acquire_worker_lock()
        first.shut()
        assert second.engine.acquire_worker_lock()

    def test_a_link_to_it_leads_to_the_same_locks_and_sockets(
        self, store: Store, path: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "links").mkdir()
        link = tmp_path / "links" / "other.db"
        link.symlink_to(path)
        other = open_store(f"sqlite://{link}", data_dir=path.parent)
        assert store.engine.acquire_worker_lock()
        assert not other.engine.acquire_worker_lock()
        assert other.engine.path == store.engine.path
        other.shut()

    def test_a_killed_worker_frees_its_lock(self, store: Store, path: Path) -> None:
        code = (
            "import sys, time; from pathlib import Path; from store import open_store\n"
            "store = open_store('sqlite', data_dir=Path(sys.argv[1]))\n"
            "print(store.engine.acquire_worker_lock(), flush=True); time.sleep(60)\n"
        )
        with _python(code, path.parent) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"True\n"
            assert not store.engine.acquire_worker_lock()
            place = f"on {socket.gethostname()}"
            assert store.engine.worker_lock_holder() == f"process {process.pid} {place}"
            process.kill()
            process.wait()
        assert store.engine.acquire_worker_lock()
        assert store.engine.worker_lock_holder() == f"process {os.getpid()} {place}"

    def test_follows_no_link_to_write_its_name(
        self, store: Store, path: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "other").write_text("precious")
        path.with_suffix(".worker.lock").symlink_to(tmp_path / "other")
        with pytest.raises(OSError, match="symbolic links"):
            store.engine.acquire_worker_lock()
        assert (tmp_path / "other").read_text() == "precious"

    def test_keeps_its_lock_to_its_user(self, store: Store, path: Path) -> None:
        store.engine.acquire_worker_lock()
        lock = path.with_suffix(".worker.lock")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def _python(code: str, *arguments: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE
    )


INGEST = """
import asyncio, sys
from pathlib import Path
from store import open_store
from store.delivery import events
from store.delivery import incoming

async def one(store, at):
    arrival = incoming.IncomingEvent(1, f"g-{at}", 1, "push", b'{"at":%d}' % at)
    receipt = await store.batch(events.accept, arrival)
    print(receipt.event_id, receipt.deliveries, flush=True)

async def main():
    store = open_store("sqlite", data_dir=Path(sys.argv[1]))
    for start in range(0, 1_000_000, 20):
        await asyncio.gather(*[one(store, at) for at in range(start, start + 20)])

asyncio.run(main())
"""


class TestAKill:
    def test_loses_nothing_that_was_accepted(self, world: World, path: Path) -> None:
        for _ in range(3):
            world.hook("push")
        accepted = []
        with _python(INGEST, path.parent) as process:
            assert process.stdout is not None
            for line in process.stdout:
                accepted.append(line.split())
                if len(accepted) == 500:
                    process.send_signal(signal.SIGKILL)
                    break
            accepted += [line.split() for line in process.stdout if line.endswith(b"\n")]
        assert process.returncode == -signal.SIGKILL
        assert world.store.write_sync(lambda db: db.value("PRAGMA integrity_check")) == "ok"
        kept = {row["event_id"] for row in world.rows()}
        assert {int(event_id) for event_id, _ in accepted} <= kept
        assert {many for _, many in accepted} == {b"3"}
        assert len(world.rows()) == 3 * len(kept)

    def test_in_the_middle_of_a_transaction_undoes_it(self, world: World, path: Path) -> None:
        code = (
            "import os, sys; from pathlib import Path; from store import open_store\n"
            "from store.accounts import accounts\n"
            "def die(db):\n"
            "    accounts.create(db, 'half')\n"
            "    os.kill(os.getpid(), 9)\n"
            "open_store('sqlite', data_dir=Path(sys.argv[1])).write_sync(die)\n"
        )
        with _python(code, path.parent) as process:
            assert process.wait() == -signal.SIGKILL
        assert logins(world.store) == ["ada"]
        world.store.write_sync(accounts.create, "bob")


class TestDurability:
    async def test_a_group_of_writes_has_the_durability_of_the_strictest(
        self, store: Store, statements: list[tuple[str, Any]]
    ) -> None:
        async def said(*writes: Any) -> list[str]:
            statements.clear()
            await asyncio.gather(*writes)
            words = ("PRAGMA", "BEGIN", "COMMIT")
            return [sql for sql, _ in statements if sql.startswith(words)]

        plain = ["BEGIN IMMEDIATE", "COMMIT"]
        normal = ["PRAGMA synchronous = NORMAL", *plain]
        full = ["PRAGMA synchronous = FULL", *plain]
        await store.write(accounts.create, "ada")
        assert await said(store.write(accounts.create, "bob")) == plain
        assert await said(store.write_relaxed(accounts.create, "cyd")) == normal
        assert await said(store.write_relaxed(accounts.create, "dan")) == plain
        assert (
            await said(
                store.write_relaxed(accounts.create, "eve"), store.write(accounts.create, "flo")
            )
            == full
        )
        assert await said(store.write(accounts.create, "gus")) == plain

    async def test_matches_the_pragma_of_the_connection(
        self, store: Store, sessions: list[SqliteSession]
    ) -> None:
        def level(db: Connection) -> int:
            return db.value("PRAGMA synchronous")

        assert await store.write(level) == 2
        assert await store.write_relaxed(level) == 1
        assert await store.batch(lambda db, items: [level(db)] * len(items), 1) == 2
        assert len(sessions) == 1


class TestTrouble:
    """While the database cannot be written, writes raise Unavailable. Later ones succeed."""

    async def test_a_lock_of_another_program_refuses_writes(
        self, store: Store, path: Path, sessions: list[SqliteSession]
    ) -> None:
        await store.write(accounts.create, "ada")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            await store.write(accounts.create, "bob")
        with pytest.raises(Unavailable, match="locked"):
            store.write_sync(accounts.create, "bob")
        assert [row["login"] for row in await store.read(accounts.list_all)] == ["ada"]
        other.execute("ROLLBACK")
        other.close()
        await store.write(accounts.create, "bob")
        assert logins(store) == ["ada", "bob"]

    def test_a_lock_of_another_program_refuses_no_look(self, store: Store, path: Path) -> None:
        """An administrator can look at the database while a shell holds a transaction open."""
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            beside = open_store("sqlite", data_dir=path.parent, create=False)
            assert beside.read_sync(accounts.list_all) == store.read_sync(accounts.list_all)
            beside.shut()

    async def test_a_full_disk_refuses_writes(
        self, sessions: list[SqliteSession], world: World
    ) -> None:
        world.hook("push")
        store, notifier = world.store, FakeNotifier(held=1)
        store.notifier = notifier
        await store.write(accounts.create, "bob")
        session = sessions[-1]
        session.run("PRAGMA max_page_count = 1", [])
        big = world.arrival("g-big", body=os.urandom(500_000))
        answers = await asyncio.gather(
            store.batch(events.accept, big), store.write(lambda db: 1), return_exceptions=True
        )
        assert isinstance(answers[0], Unavailable)
        assert "full" in str(answers[0])
        assert isinstance(answers[1], Unavailable)
        assert notifier.offers == []
        assert world.rows() == []
        session.run("PRAGMA max_page_count = 1000000", [])
        receipt = await store.batch(events.accept, big)
        assert (receipt.duplicate, receipt.deliveries) == (False, 1)
        assert len(notifier.offers) == 1

    async def test_a_read_only_connection_refuses_writes(
        self, store: Store, sessions: list[SqliteSession]
    ) -> None:
        await store.write(accounts.create, "ada")
        sessions[0].run("PRAGMA query_only = ON", [])
        answers = await asyncio.gather(
            *[store.write(accounts.create, name) for name in ("bob", "cyd")],
            return_exceptions=True,
        )
        assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
        sessions[0].run("PRAGMA query_only = OFF", [])
        await store.write(accounts.create, "bob")
        assert logins(store) == ["ada", "bob"]

    async def test_too_many_open_files(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(*_: Any, **__: Any) -> None:
            raise sqlite3.OperationalError("unable to open database file")

        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", refused)
            with pytest.raises(Unavailable, match="unable to open"):
                await store.write(accounts.create, "ada")
        await store.write(accounts.create, "ada")
        assert logins(store) == ["ada"]

    def test_a_mistake_in_a_statement_is_not_taken_for_it(self, store: Store) -> None:
        with pytest.raises(sqlite3.OperationalError, match="syntax"):
            store.write_sync(lambda db: db.execute("SELEC 1"))


class TestBesideADaemon:
    async def test_a_command_writes_while_the_daemon_runs(
        self, store: Store, opened: Callable[[], Store]
    ) -> None:
        command = opened()
        together = 20
        writes = [store.write(accounts.create, f"daemon-{at}") for at in range(together)]
        commands = [
            asyncio.to_thread(command.write_sync, accounts.create, f"command-{at}")
            for at in range(together)
        ]
        await asyncio.gather(*writes, *commands)
        assert len(logins(store)) == 2 * together

    async def test_a_read_followed_by_a_write_never_fails_for_others(
        self, store: Store, opened: Callable[[], Store]
    ) -> None:
        """In a deferred transaction, the write would fail after another process has written."""

        def count_up(db: Connection) -> None:
            seen = db.value("SELECT count(*) FROM account")
            accounts.create(db, f"n-{seen}")

        other = opened()
        await asyncio.gather(
            *[store.write(count_up) for _ in range(25)],
            *[asyncio.to_thread(other.write_sync, count_up) for _ in range(25)],
        )
        assert len(logins(store)) == 50

    async def test_short_reads_are_made_inline_and_do_not_wait_for_a_writer(
        self, store: Store, opened: Callable[[], Store]
    ) -> None:
        other, gate = opened(), Gate()
        with gate.closed():
            writing = asyncio.ensure_future(asyncio.to_thread(other.write_sync, gate))
            await asyncio.to_thread(gate.reached)
            name = await store.read(lambda db: threading.current_thread().name)
            assert name == threading.current_thread().name
            assert await store.read(accounts.list_all) == []
        await writing

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT a.id FROM account a ORDER BY a.login",
            "SELECT a.id FROM account a JOIN account b ON 1 = 1 LIMIT 20000",
        ],
        ids=["before the first row", "after it"],
    )
    async def test_a_read_beyond_its_budget_moves_to_a_thread(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, sql: str
    ) -> None:
        def fill(db: Connection) -> None:
            db.insert_many(
                "account",
                "login, login_key, kind, created_at, updated_at",
                [(f"u{at}", f"u{at}", "User", 0, 0) for at in range(2_000)],
            )

        def threads(db: Connection) -> str:
            db.all(sql)
            return threading.current_thread().name

        await store.write(fill)
        here = threading.current_thread().name
        assert await store.read(threads) == here
        monkeypatch.setattr(connections, "CHECKS", 0)
        assert await store.read(threads) != here

    async def test_a_read_with_many_short_statements_moves_to_a_thread(self, store: Store) -> None:
        def thread(db: Connection, many: int) -> str:
            for at in range(many):
                db.value("SELECT :at", at=at)
            return threading.current_thread().name

        here = threading.current_thread().name
        assert await store.read(thread, connections.MOST_STATEMENTS // 2) == here
        assert await store.read(thread, connections.MOST_STATEMENTS) != here


class TestPlans:
    """Statements of the delivery path find their rows by an index, however large the tables are."""

    @pytest.fixture
    def plans(
        self, world: World, path: Path, statements: list[tuple[str, Any]]
    ) -> Iterator[Callable[[Callable[[], Any]], list[list[str]]]]:
        """Returns a function that makes a call and returns the plans of its statements."""
        raw = sqlite3.connect(path)

        def explain(call: Callable[[], Any]) -> list[list[str]]:
            statements.clear()
            call()
            return [
                [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
                for sql, parameters in list(statements)
                if sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"))
            ]

        yield explain
        raw.close()

    @pytest.fixture
    def calls(self, world: World) -> dict[str, Callable[[], Any]]:
        """The calls of the delivery path, in an order in which each finds rows."""
        store = world.store
        hook = world.hook("push")
        lease = world.lease()
        store.notifier = FakeNotifier(held=lease, filled={hook["id"]})
        world.arrive("g-0")
        for at in range(3):
            world.arrive(f"g-{at + 1}")
        taken: list[deliveries.ClaimedDelivery] = []
        return {
            "accept": lambda: world.arrive("g-9"),
            "repeat": lambda: world.arrive("g-9"),
            "waiting_hooks": lambda: store.read_sync(deliveries.waiting_hooks),
            "claim": lambda: taken.extend(world.claim(lease, hook["id"])),
            "record": lambda: store.write_sync(
                attempt_outcomes.record,
                [world.failure(lease, taken[0]), world.outcome(lease, taken[1])],
            ),
            "release": lambda: store.write_sync(deliveries.release, lease, [taken[2].id]),
            "bury": lambda: store.write_sync(deliveries.mark_dead, lease, [taken[3].id], "gone"),
            "renew": lambda: store.write_sync(leases.renew, lease, 1),
            "end": lambda: store.write_sync(leases.release, lease),
            "end_expired": lambda: store.write_sync(leases.release_expired),
            "event": lambda: store.read_sync(events.get, 1),
            "token": lambda: store.read_sync(tokens.find, "tsp_x"),
            "repository": lambda: store.read_sync(repositories.find, "ada", "engine"),
            "role": lambda: store.read_sync(
                repositories.role_of, world.repo, {"id": 99, "site_admin": 0}
            ),
            "hook": lambda: store.read_sync(hooks.by_id, hook["id"]),
            "hooks": lambda: store.read_sync(hook_queries.page, world.repo["id"], limit=30),
            "last_responses": lambda: store.read_sync(attempts.last_responses, [hook["id"]]),
            "attempts": lambda: store.read_sync(attempts.page, hook["id"], limit=30),
            "attempt": lambda: store.read_sync(attempts.get, hook["id"], 1),
            "of_delivery": lambda: store.read_sync(attempts.of_delivery, 1),
            "latest": lambda: store.read_sync(event_queries.latest, world.repo["id"], "push"),
            "drop_bodies": lambda: store.write_sync(retention.drop_bodies, 0, 1),
            "drop_attempts": lambda: store.write_sync(retention.drop_attempts, 0, 1),
            "drop_events": lambda: store.write_sync(retention.drop_events, 0, 1),
        }

    def test_scan_no_table(self, calls: Any, plans: Any) -> None:
        # The table is small: it has one lease for each worker.
        allowed = {"end_expired": ["SCAN lease"]}
        for name, call in calls.items():
            found = plans(call)
            assert found, name
            scans = [line for plan in found for line in plan if _scanned(line) in TABLES]
            assert scans == allowed.get(name, []), name

    def test_use_the_index_that_was_made_for_them(self, calls: Any, plans: Any) -> None:
        wanted = {
            "accept": ["s USING INDEX sqlite_autoindex_subscription_1 (repo_id=? AND event=?)"],
            "repeat": ["event USING INDEX sqlite_autoindex_event_1 (guid=? AND scope=?)"],
            "waiting_hooks": ["x USING INDEX delivery_due (hook_id>?)"],
            "claim": [
                "x USING INDEX delivery_due (hook_id=? AND due_at<?)",
                "delivery USING INTEGER PRIMARY KEY (rowid=?)",
                "x USING INDEX delivery_due (hook_id=?)",
            ],
            "record": ["delivery USING INTEGER PRIMARY KEY (rowid=?)"],
            "release": ["delivery USING INTEGER PRIMARY KEY (rowid=?)"],
            "bury": ["delivery USING INTEGER PRIMARY KEY (rowid=?)"],
            "end": ["delivery USING INDEX delivery_leased (lease_id=?)"],
            "end_expired": ["delivery_leased (lease_id>?)"],
            "attempts": ["a USING INDEX attempt_hook (hook_id=?)"],
            "last_responses": ["x USING INDEX attempt_hook (hook_id=?)"],
            "drop_bodies": ["event USING INDEX event_kept (id>?)"],
            "drop_attempts": ["attempt USING INTEGER PRIMARY KEY (rowid>?)"],
        }
        for name, call in calls.items():
            lines = " / ".join(line for plan in plans(call) for line in plan).replace(
                "COVERING ", ""
            )
            for part in wanted.get(name, []):
                assert part in lines, name

    def test_sort_nothing_if_the_index_is_in_order(self, calls: Any, plans: Any) -> None:
        # The new deliveries are sorted by event. They come from one batch of events only.
        allowed = {"accept": ["USE TEMP B-TREE FOR ORDER BY"] * 2}
        for name, call in calls.items():
            lines = [line for plan in plans(call) for line in plan if "TEMP B-TREE" in line]
            assert lines == allowed.get(name, []), name

    @pytest.mark.parametrize("kind", ["pull", "paused", "ordered", "stopped", "full"])
    def test_cost_the_same_if_other_hooks_are_special(
        self, world: World, path: Path, statements: list[tuple[str, Any]], kind: str
    ) -> None:
        hook = world.hook("push")
        notifier = FakeNotifier(held=world.lease())
        world.store.notifier = notifier

        def cost() -> int:
            return _steps(path, statements, lambda: world.arrive(uuid7.new())) + _steps(
                path, statements, lambda: world.claim(notifier.held or 0, hook["id"])
            )

        cost()
        self._add_special(world, notifier, kind, 1_000)
        few = cost()
        self._add_special(world, notifier, kind, 10_000)
        assert cost() < few + 100

    def _add_special(self, world: World, notifier: FakeNotifier, kind: str, first: int) -> None:
        """Add 1000 hooks of another repository, with ids from `first` on."""
        ids = range(first, first + 1_000)
        notifier.filled.update(ids if kind == "full" else ())
        other_id = world.store.write_sync(repositories.create, world.repo["owner_id"], f"r{first}")[
            "id"
        ]

        def add(db: Connection) -> None:
            given = "id, repo_id, url, content_type, events, options, created_at, updated_at"
            paused = 1 if kind == "paused" else None
            db.insert_many(
                "hook",
                f"{given}, pull, paused_at",
                [(i, other_id, "u", "json", "[]", "{}", 1, 1, kind == "pull", paused) for i in ids],
            )
            if kind in ("ordered", "stopped"):
                rows = [(i, "hook", 0, 1, kind == "stopped") for i in ids]
                columns = "hook_id, ordering, blocks, active, stopped"
                db.insert_many("hook_ordering", columns, rows)

        world.store.write_sync(add)


def _steps(path: Path, statements: list[tuple[str, Any]], call: Callable[[], Any]) -> int:
    """Make a call. Return the steps of the database that its statements on deliveries take."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    statements.clear()
    call()
    with closing(sqlite3.connect(path)) as raw:
        raw.set_progress_handler(count, 1)
        for sql, parameters in list(statements):
            if " delivery " in sql:
                raw.execute(sql, parameters).fetchall()
        raw.rollback()
    return steps


def _scanned(line: str) -> str:
    """The name of the table that a plan's line scans in full, or an empty text."""
    aliases = {"d": "delivery", "x": "delivery", "e": "event", "h": "hook", "a": "attempt"}
    words = line.split()
    name = words[1] if words[0] == "SCAN" else ""
    return aliases.get(name, name)


def test_the_log_shrinks_after_a_long_read(store: Store, path: Path) -> None:
    def write(db: Connection, many: int) -> None:
        db.execute("UPDATE probe SET tried_at = zeroblob(:many)", many=many)

    log = path.with_name(f"{path.name}-wal")
    store.write_sync(lambda db: db.execute("INSERT INTO probe (id, tried_at) VALUES (7, 0)"))
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT id FROM event").fetchall()
        store.write_sync(write, connections.LOG_BYTES)
        assert log.stat().st_size > connections.LOG_BYTES
    # The first write copies the log to the file, and the second one begins it again.
    for many in (1, 2):
        store.write_sync(write, many)
    assert log.stat().st_size <= connections.LOG_BYTES


def test_a_full_database_is_a_lack_of_room(store: Store) -> None:
    def fill(db: Connection) -> None:
        db.execute("INSERT INTO probe (id, tried_at) VALUES (7, zeroblob(100000))")

    store.read_sync(lambda db: db.value("PRAGMA max_page_count = 1"))
    with pytest.raises(Full, match="database or disk is full"):
        store.write_sync(fill)
    assert "full" in store.condition.lack


def test_a_write_beyond_a_quota_is_a_lack_of_room() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    with pytest.raises(Full, match="disk I/O error"):
        translate(error)
