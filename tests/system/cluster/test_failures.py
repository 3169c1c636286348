"""Failures of PostgreSQL: accepted events arrive, other events get a 503, and hub and workers
recover by themselves. Also the error messages for a database that cannot be used.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from cluster_database import GUARDED, PASSWORD, Server, migrated, own_server
from cluster_fake import server_of_version
from cluster_processes import TOCSIN, Deployment, Installation, Receiver, receiving
from cluster_sender import Sender, payload
from cryptography.fernet import Fernet
from local_server import NO_AUTHORITIES
from ports import free_port
from waiting import PATIENCE, Stopwatch, wait_until

from hub.cli.console import exits
from store import Connection, open_store
from store.accounts import accounts, tokens
from store.hooks import hooks
from store.repositories import repositories
from worker.tuning import DEFAULTS

# The seconds of an outage. TOCSIN_TEST_OUTAGE=60 makes it as long as a real one.
OUTAGE = float(os.environ.get("TOCSIN_TEST_OUTAGE", "8"))
# The bound of quick responses and shutdowns, in durations of a start.
STARTS = 40


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with own_server(max_connections=30) as running:
        running.sql("CREATE ROLE tocsin LOGIN")
        running.sql(f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{PASSWORD.replace('%2F', '/')}'")
        yield running


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """Create a database that belongs to the role tocsin."""
    yield from _trouble(server, "template0")


def _trouble(server: Server, template: str) -> Iterator[str]:
    if not server.running():
        server.start()
    server.sql(f"CREATE DATABASE trouble OWNER tocsin TEMPLATE {template} ENCODING 'UTF8'")
    yield "trouble"
    if not server.running():
        server.start()
    server.sql("DROP DATABASE trouble WITH (FORCE)")


def seed(db: Connection, receiver: str) -> str:
    ada = accounts.create(db, "ada")
    repo = repositories.create(db, ada["id"], "bell")
    for number in range(2):
        hooks.create(db, repo["id"], url=f"{receiver}/{number}", events=["push"])
    return tokens.create(db, ada["id"], scopes=["repo"])[0]


class Trouble(Deployment):
    """One hub and two workers that must survive the failure."""

    def __init__(
        self, installation: Installation, server: Server, receiver: Receiver, token: str
    ) -> None:
        super().__init__(installation, server, receiver, token)
        self.port = free_port()
        self._numbers = 0
        self.accepted: set[str] = set()

    def start(self) -> None:
        taken = Stopwatch()
        self.installation.hub("hub", self.port)
        self.installation.worker("worker1")
        self.installation.worker("worker2")
        self.installation.at_work()
        self.started = taken.seconds()

    def post(self, count: int = 50) -> None:
        """Post `count` events until each is accepted."""
        sender = Sender([self.port], "ada/bell", self.token)
        sender.give(f"event-{self._numbers + at:05}" for at in range(count))
        self._numbers += count
        asyncio.run(asyncio.wait_for(sender.run(8), PATIENCE))
        self.accepted |= sender.accepted

    def ask(self) -> httpx.Response:
        """Post one event once. Return the response."""
        self._numbers += 1
        guid = f"event-{self._numbers:05}"
        answer = httpx.post(
            f"http://127.0.0.1:{self.port}/ada/bell/events/push",
            content=payload(guid),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "X-GitHub-Delivery": guid,
            },
            timeout=PATIENCE,
            trust_env=False,
            verify=NO_AUTHORITIES,
        )
        if answer.is_success:
            self.accepted.add(guid)
        return answer

    def is_refused(self) -> None:
        """Check that the hub refuses events quickly, with 503 and Retry-After."""
        wait_until(lambda: not self.ask().is_success, "the hub to notice")
        for _ in range(10):
            taken = Stopwatch()
            answer = self.ask()
            assert answer.status_code == 503, answer.text
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert answer.json()["message"].startswith("The service cannot reach its data")
            assert taken.seconds() < STARTS * self.started

    def goes_on(self) -> float:
        """Wait until all accepted events arrive, new ones among them. Return the seconds."""
        taken = Stopwatch()
        wait_until(lambda: self.ask().is_success, "the hub to go on")
        self.post()
        self.all_arrive()
        return taken.seconds()

    def all_recorded(self) -> None:
        """Wait until all outcomes are recorded. Deliveries without one would be sent again."""
        waiting = "SELECT 1 FROM delivery WHERE state = 0 LIMIT 1"
        with psycopg.connect(self.server.url("trouble"), autocommit=True) as raw:
            wait_until(lambda: not raw.execute(waiting).fetchall(), "outcomes")

    def all_arrive(self) -> None:
        expected = {(guid, f"/{number}") for guid in self.accepted for number in range(2)}
        wait_until(lambda: expected <= self.receiver.arrived(), "deliveries")

    def ends_well(self) -> None:
        """Check that all is recorded, and that each process ends with 0 and leaves no lease."""
        self.all_recorded()
        assert [process.end() for process in self.installation.running.values()] == [0, 0, 0]
        found = self.server.sql(
            "SELECT state, lease_id, count(*) FROM delivery GROUP BY 1, 2", "trouble"
        )
        assert [row[:2] for row in found] == [(1, None)]
        for process in self.installation.running.values():
            assert "Traceback" not in process.said(), process.said()
            assert process.said().count("\n") < 400, "an outage does not flood the log"


@pytest.fixture
def migrated_database(server: Server) -> Iterator[str]:
    """Create a database that belongs to the role tocsin, and has the tables already."""
    yield from _trouble(server, migrated(server, "tocsin"))


@pytest.fixture
def trouble(server: Server, migrated_database: str, tmp_path: Path) -> Iterator[Trouble]:
    url = server.url(migrated_database, "tocsin")
    with receiving(tmp_path) as receiver:
        store = open_store(url, data_dir=tmp_path)
        token = store.write_sync(seed, receiver.url)
        store.shut()
        installation = Installation(tmp_path, url)
        try:
            made = Trouble(installation, server, receiver, token)
            made.start()
            made.post()
            made.all_arrive()
            yield made
        finally:
            installation.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_database_is_restarted(trouble: Trouble, mode: str) -> None:
    trouble.server.stop(mode)
    trouble.server.start()
    trouble.goes_on()
    trouble.ends_well()


def test_the_database_is_unreachable_for_a_while(
    trouble: Trouble, capsys: pytest.CaptureFixture[str]
) -> None:
    trouble.server.stop()
    trouble.is_refused()
    time.sleep(OUTAGE)
    assert not trouble.ask().is_success
    trouble.server.start()
    took = trouble.goes_on()
    with capsys.disabled():
        print(f"\nafter an outage of {OUTAGE:.0f} s all goes on within {took:.1f} s")
    trouble.ends_well()


def test_a_replica_without_the_last_events_takes_over(trouble: Trouble) -> None:
    """The worker has payloads of lost events in memory. None goes out in place of a new one."""
    replica = trouble.server.replica()
    trouble.post(100)
    trouble.all_arrive()
    trouble.server.fail_over(replica)
    trouble.goes_on()
    trouble.post(100)
    trouble.all_arrive()
    trouble.ends_well()


def test_attempts_during_an_outage_are_recorded_later(trouble: Trouble) -> None:
    """The worker keeps their outcomes until it can record them, and sends nothing again."""
    trouble.post(200)
    trouble.server.stop()
    trouble.is_refused()
    trouble.server.start()
    trouble.goes_on()
    sent = [(one.guid, one.path) for one in trouble.receiver.look()]
    assert len(sent) == len(set(sent))
    trouble.ends_well()


@contextmanager
def no_connection_left(server: Server) -> Iterator[None]:
    """Hold all connections of the server, except those that it keeps for administrators.

    Once they are held, tocsin cannot get one. To count its own connections would not show that,
    because the server does not list a connection that is being opened.
    """
    (most,) = server.sql(
        "SELECT current_setting('max_connections')::int"
        " - current_setting('superuser_reserved_connections')::int"
    )[0]
    with ExitStack() as taken:
        held: list[psycopg.Connection[Any]] = []

        def take() -> bool:
            # Connections that are being opened can leave none for an administrator either.
            with suppress(psycopg.OperationalError):
                server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE usename = 'tocsin'"
                )
                while len(held) < most:
                    raw = psycopg.connect(server.url("trouble", GUARDED, PASSWORD))
                    held.append(taken.enter_context(raw))
            return len(held) == most

        wait_until(take, "the last connection")
        yield


def test_there_are_no_connections_left(trouble: Trouble) -> None:
    with no_connection_left(trouble.server):
        trouble.is_refused()
    trouble.goes_on()
    trouble.ends_well()


def _in_the_system(server: Server, value: str) -> None:
    server.sql(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
    server.sql("SELECT pg_reload_conf()")


def _in_the_database(server: Server, value: str) -> None:
    """New connections are read-only, and stay so when later ones can write again."""
    with psycopg.connect(server.url(), autocommit=True) as raw:
        raw.execute("SET default_transaction_read_only = off")
        raw.execute(f"ALTER DATABASE trouble SET default_transaction_read_only = {value}")
        if value == "on":
            raw.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tocsin'"
            )


@pytest.mark.parametrize("switch", [_in_the_system, _in_the_database])
def test_the_database_only_reads(trouble: Trouble, switch: Callable[[Server, str], None]) -> None:
    switch(trouble.server, "on")
    try:
        trouble.is_refused()
    finally:
        switch(trouble.server, "off")
    trouble.goes_on()
    trouble.ends_well()


def test_processes_end_while_the_database_is_away(trouble: Trouble) -> None:
    """They end within the stop grace, although they cannot return their leases."""
    trouble.server.stop("immediate")
    trouble.is_refused()
    taken = Stopwatch()
    for process in trouble.installation.running.values():
        process.popen.terminate()
    assert [process.popen.wait(PATIENCE) for process in trouble.installation.running.values()] == [
        0,
        0,
        0,
    ]
    assert taken.seconds() < DEFAULTS.stop_grace + STARTS * trouble.started


# Messages at the start.


def refused(store: str, tmp_path: Path, *, command: str = "serve", code: int = 1) -> str:
    """Run a command that must fail with `code`. Return its error, which is one line."""
    done = subprocess.run(
        [*TOCSIN, command, "--store", store, "--data-dir", tmp_path / "data"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
    )
    assert done.returncode == code, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: "), line
    for secret in ("sesame", "open"):
        assert secret not in line.replace("cannot open", ""), line
    return line


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:sesame@127.0.0.1:x/db", 'invalid integer value "x" for connection'),
        (
            "postgresql://ada:sesame@127.0.0.1/db?nonsense=1",
            'invalid URI query parameter: "nonsense"',
        ),
        ("postgresql://ada:sesame%zz@127.0.0.1/db", "is no PostgreSQL URL"),
        ("postgresql://ada:sesame@[::1]x/db", "is no PostgreSQL URL"),
        ("postgresql://ada:sesame@[::1/db", "is no PostgreSQL URL"),
        ("postgresql://127.0.0.1:1/db?password=sesame%zz", "is no PostgreSQL URL"),
        ("postgres:/ada:sesame@host/db", "is not known"),
        ("mysql://ada:sesame@host/db", "is not known"),
    ],
)
def test_a_wrong_url_is_refused(url: str, said: str, tmp_path: Path) -> None:
    assert said in refused(url, tmp_path)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:se@same@127.0.0.1:1/db", "cannot be reached"),
        ("postgresql://ada:sesame/x@127.0.0.1:1/db", "failed to resolve host 'ada'"),
        ("postgresql://ada:sesame@127.0.0.1:1/db", "Connection refused"),
        ("postgresql://ada:sesame@/db?host=/nowhere", "No such file or directory"),
        ("postgresql://ada:sesame@nowhere.invalid/db", "cannot be reached"),
    ],
)
def test_an_unreachable_server_is_reported(url: str, said: str, tmp_path: Path) -> None:
    assert said in refused(url, tmp_path, code=exits.LATER)


def test_a_missing_database_is_reported(server: Server, tmp_path: Path) -> None:
    said = refused(server.url("nowhere"), tmp_path, code=exits.LATER)
    assert 'database "nowhere" does not exist' in said


@pytest.mark.parametrize("command", ["serve", "status"])
def test_a_wrong_password_is_reported(server: Server, tmp_path: Path, command: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret.key").write_bytes(Fernet.generate_key())
    url = server.url("postgres", GUARDED, "wrong-sesame")
    line = refused(url, tmp_path, command=command, code=exits.LATER)
    assert f'password authentication failed for user "{GUARDED}"' in line


def test_an_old_server_is_refused(tmp_path: Path) -> None:
    with server_of_version("14.19") as port:
        line = refused(f"postgresql://ada:sesame@127.0.0.1:{port}/db", tmp_path)
    assert line == "Error: PostgreSQL 14.19 is too old: 15 or newer"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(
    server: Server, tmp_path: Path, encoding: str
) -> None:
    server.sql(
        f"CREATE DATABASE other TEMPLATE template0 ENCODING '{encoding}'"
        " LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    try:
        line = refused(server.url("other"), tmp_path)
    finally:
        server.sql("DROP DATABASE other")
    assert f"the database's encoding is {encoding}: make one with ENCODING 'UTF8'" in line


def test_a_user_without_the_right_to_make_tables_is_refused(
    server: Server, database: str, tmp_path: Path
) -> None:
    line = refused(server.url(database, GUARDED, PASSWORD), tmp_path)
    assert f"{GUARDED} may not create tables in {database}: GRANT CREATE" in line


def test_a_user_without_rights_to_the_tables_is_refused(
    server: Server, database: str, tmp_path: Path
) -> None:
    open_store(server.url(database, "tocsin"), data_dir=tmp_path).shut()
    server.sql(f"GRANT CREATE ON SCHEMA public TO {GUARDED}", database)
    line = refused(server.url(database, GUARDED, PASSWORD), tmp_path)
    assert "the database's user lacks a right: permission denied for table migration" in line


def test_a_read_only_database_is_reported(server: Server, database: str, tmp_path: Path) -> None:
    server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    # 6 is LATER: the database may accept writes later.
    assert "read-only" in refused(server.url(database, "tocsin"), tmp_path, code=6)


def test_a_database_without_a_free_connection_is_reported(
    server: Server, database: str, tmp_path: Path
) -> None:
    with no_connection_left(server):
        line = refused(server.url(database, "tocsin"), tmp_path, code=exits.LATER)
    assert "slots" in line or "too many" in line


@pytest.mark.parametrize("missing", ["psycopg", "psycopg_pool"])
def test_a_missing_driver_is_reported(tmp_path: Path, missing: str) -> None:
    program = (
        "import sys; sys.modules[sys.argv.pop(1)] = None\n"
        "from hub.cli import main; main(prog_name='tocsin')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, missing, "serve", "--store", "postgresql://host/db"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "TOCSIN_DATA_DIR": str(tmp_path)},
        cwd=tmp_path,
    )
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: PostgreSQL needs its driver")
    assert line.endswith("pip install 'psycopg[binary,pool]>=3.2,<4'")


def test_the_log_keeps_the_password_to_itself(
    server: Server, database: str, tmp_path: Path
) -> None:
    """A process that knows the password logs database failures without it."""
    server.sql(f"GRANT ALL ON SCHEMA public TO {GUARDED}", database)
    (tmp_path / "secret.key").write_bytes(Fernet.generate_key())
    installation = Installation(tmp_path, server.url(database, GUARDED, PASSWORD))
    try:
        process = installation.start("both", "--port", "0", log_level="debug")
        process.waits_for("tocsin is at work")
        server.stop("immediate")
        process.waits_for("there is no connection to the database")
        server.start()
        assert process.end() == 0
        said: Any = process.said()
    finally:
        installation.close()
    for secret in (PASSWORD, PASSWORD.replace("%2F", "/"), "sesame"):
        assert secret not in said
