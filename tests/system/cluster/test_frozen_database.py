"""A PostgreSQL server that stands still: hub and worker end all the same, and lose nothing."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from cluster_database import Server, migrated, own_server
from cluster_processes import Installation, Receiver, receiving
from cluster_sender import payload
from local_server import NO_AUTHORITIES
from ports import free_port
from waiting import PATIENCE, wait_until

from store import Connection, open_store
from store.accounts import accounts, tokens
from store.hooks import hooks
from store.repositories import repositories


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with own_server() as running:
        running.sql("CREATE ROLE tocsin LOGIN")
        yield running


def _children(pid: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(path.parent.name)


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Stop all processes of the server for the block. Connections to it stay open, and silent."""
    postmaster = int((server.folder / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGSTOP)
    try:
        for pid in _children(postmaster):
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in (*_children(postmaster), postmaster):
            os.kill(pid, signal.SIGCONT)


class Site:
    """An installation with one hook, and a thread that posts events to its hub."""

    def __init__(self, folder: Path, server: Server, receiver: Receiver) -> None:
        self.server, self.receiver = server, receiver
        self.port = free_port()
        url = server.url("frozen", "tocsin")
        store = open_store(url, data_dir=folder)
        self.token = store.write_sync(seed, receiver.url)
        store.shut()
        self.installation = Installation(folder, url)
        self.accepted: set[str] = set()
        self._posted = 0

    def start(self) -> None:
        """Start a hub, a worker, and both in one process."""
        self.installation.hub("hub", self.port)
        self.installation.worker("worker")
        self.installation.start("both", "--port", "0")
        self.installation.at_work()

    @contextmanager
    def posting(self) -> Iterator[None]:
        """Post an event during the block, which nobody may answer before its end."""
        thread = threading.Thread(target=self.post)
        thread.start()
        yield
        thread.join()

    def post(self) -> None:
        """Post an event once."""
        self._posted += 1
        guid = f"event-{self._posted:05}"
        with suppress(httpx.TransportError):
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

    def all_arrive(self) -> None:
        def arrived() -> bool:
            return self.accepted <= {guid for guid, _ in self.receiver.arrived()}

        wait_until(arrived, "deliveries")

    def all_recorded(self) -> None:
        waiting = "SELECT 1 FROM delivery WHERE state = 0 OR lease_id IS NOT NULL LIMIT 1"
        wait_until(lambda: not self.server.sql(waiting, "frozen"), "outcomes")


def seed(db: Connection, receiver: str) -> str:
    ada = accounts.create(db, "ada")
    repo = repositories.create(db, ada["id"], "bell")
    hooks.create(db, repo["id"], url=f"{receiver}/", events=["push"])
    return tokens.create(db, ada["id"], scopes=["repo"])[0]


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Iterator[Site]:
    server.sql(f"CREATE DATABASE frozen OWNER tocsin TEMPLATE {migrated(server, 'tocsin')}")
    with receiving(tmp_path) as receiver:
        made = Site(tmp_path, server, receiver)
        try:
            yield made
        finally:
            made.installation.close()
    server.sql("DROP DATABASE frozen WITH (FORCE)")


def test_processes_end_while_the_database_stands_still(site: Site) -> None:
    site.start()
    for _ in range(20):
        site.post()
    site.all_arrive()
    before = {*site.installation.running.values()}
    site.all_recorded()
    with ExitStack() as stack:
        with site.receiver.holding():
            for _ in range(20):
                site.post()
            wait_until(lambda: len(site.receiver.look()) > 20, "requests in flight")
            stack.enter_context(frozen(site.server))
        stack.enter_context(site.posting())
        # The outcomes of the requests in flight cannot be recorded.
        for process in before:
            process.popen.terminate()
        assert [process.popen.wait(PATIENCE) for process in before] == [0, 0, 0]
    for process in before:
        assert "Traceback" not in process.said(), process.said()
        assert process.said().count("waits no longer for the database: deliveries") == 1
    # No process could return its lease.
    site.server.sql("UPDATE lease SET expires_at = 0", "frozen")
    site.start()
    site.all_recorded()
    site.all_arrive()
    sent = Counter(one.guid for one in site.receiver.look())
    assert [many for _, many in sorted(sent.items())][:20] == [1] * 20, "the recorded ones"
    assert [process.end() for process in site.installation.running.values()] == [0, 0, 0]
