"""A `tocsin serve` process, a client that posts events, and a receiver that counts deliveries."""

import asyncio
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engines import open_prepared, prepare_database
from local_server import listening
from ports import free_port
from waiting import PATIENCE, Stopwatch

from store import Store, open_store
from store.accounts import accounts, tokens
from store.delivery import delivery_queries
from store.hooks import hooks
from store.repositories import repositories

ENVIRONMENT = {
    "TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8",
    "TOCSIN_RATE_LIMITING": "false",
    "TOCSIN_LOG_LEVEL": "warning",
    # A receiver that answers late on a busy machine does not get the same delivery again.
    "TOCSIN_TIMEOUT": "120",
}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# `^` would be tried at each character, which takes five times as long.
AGENT = re.compile(rb"(?i)\r\nUser-Agent: (\S+)\r")
GUID = re.compile(rb"(?i)\r\nX-GitHub-Delivery: (\S+)\r")
LENGTH = re.compile(rb"(?i)\r\nContent-Length: *(\d+)\r")


async def tocsin(folder: Path, *args: str) -> asyncio.subprocess.Process:
    """Start a command on a data directory."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hub.cli", *args,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **ENVIRONMENT, "TOCSIN_DATA_DIR": str(folder)},
    )  # fmt: skip


def _program(patch: str) -> list[str]:
    if not patch:
        return ["-m", "hub.cli"]
    module = patch.partition(" = ")[0].rpartition(".")[0]
    return ["-c", f"import {module}; {patch}; from hub.cli import main; main()"]


async def said(folder: Path, *args: str) -> str:
    """Run a command on a data directory, which must succeed. Return its output."""
    return await done(await tocsin(folder, *args))


async def done(process: asyncio.subprocess.Process, seconds: float = PATIENCE) -> str:
    """Return the output of a process. It must end with exit code 0 within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()
    return output.decode()


class Ledger:
    """A receiver that counts each delivery, and answers 200 after `pause` seconds."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.got: Counter[str] = Counter()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length, guid = LENGTH.search(head), GUID.search(head)
            assert length is not None
            assert guid is not None
            await reader.readexactly(int(length[1]))
            agent = AGENT.search(head)
            self.note(guid[1].decode(), agent[1].decode() if agent else "")
            await self.think()
            writer.write(OK)

    def note(self, guid: str, agent: str) -> None:
        """Count a delivery. `agent` is the user agent of its sender."""
        self.got[guid] += 1

    async def think(self) -> None:
        """Wait before the answer."""
        await asyncio.sleep(self.pause)


@asynccontextmanager
async def ledger(pause: float = 0.0, made: Ledger | None = None) -> AsyncIterator[Ledger]:
    made = made or Ledger(pause)
    async with listening(made.serve) as made.port:
        yield made


class Daemon:
    """A running `tocsin serve`."""

    def __init__(self, process: asyncio.subprocess.Process, said: str) -> None:
        self.process = process
        self.url = said
        self.started = 0.0
        """The seconds that the start took, as a measure of the machine's speed."""

    async def kill(self) -> None:
        """Kill the process as `kill -9` does, unless it has ended."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.process.wait()


class Site:
    """A data directory with the repository ada/engine, a token to post to it, and its daemons."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.running: list[Daemon] = []
        prepare_database("sqlite", folder)
        with self.looking() as store:
            self.token = store.write_sync(_people)

    def opened(self) -> "Opened":
        return Opened(self.folder)

    def looking(self) -> "Opened":
        """Return the same as `opened`, without the checks of a start. Polling needs no more."""
        return Opened(self.folder, checked=False)

    def hook(self, receiver: Ledger, **options: Any) -> None:
        with self.opened() as store:
            store.write_sync(_hook, f"http://127.0.0.1:{receiver.port}/", options)

    async def serve(self, *args: str, patch: str = "", **environment: str) -> Daemon:
        """Start `tocsin serve`, on the same port every time. `patch` is an assignment that the
        process makes first, as in `worker.tuning.DEFAULTS = worker.tuning.Tuning(stop_grace=1)`.
        """
        taken = Stopwatch()
        process = await asyncio.create_subprocess_exec(
            sys.executable, *_program(patch), "serve", "--port", str(self.port), *args,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **ENVIRONMENT, "TOCSIN_DATA_DIR": str(self.folder), **environment},
        )  # fmt: skip
        daemon = Daemon(process, "")
        self.running.append(daemon)
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = (await process.stdout.readline()).decode()
        found = re.search(r"at work: (\S+)", line)
        assert found is not None, f"it said {line!r}"
        daemon.url, daemon.started = found[1], taken.seconds()
        if daemon.url != "worker":
            self.port = int(daemon.url.rpartition(":")[2])
        return daemon

    async def close(self) -> None:
        for daemon in self.running:
            await daemon.kill()

    def rows(self) -> list[dict[str, Any]]:
        """Every delivery that is in the database."""
        with self.looking() as store:
            return store.read_sync(delivery_queries.page, limit=100_000)

    def states(self) -> Counter[str]:
        with self.looking() as store:
            counts = store.read_sync(delivery_queries.count_by_state)
        return Counter({state: count for state, count in counts.items() if count})

    def integrity(self) -> str:
        with self.opened() as store:
            return str(store.read_sync(lambda db: db.value("PRAGMA integrity_check")))


class Opened:
    """A context manager that opens the site's store for a block."""

    def __init__(self, folder: Path, *, checked: bool = True) -> None:
        self._folder = folder
        self._checked = checked

    def __enter__(self) -> Store:
        if self._checked:
            self._store = open_store("sqlite", data_dir=self._folder)
        else:
            self._store = open_prepared("sqlite", self._folder)
        return self._store

    def __exit__(self, *exc: object) -> None:
        self._store.shut()


def _people(db: Any) -> str:
    owner = accounts.create(db, "ada")
    repositories.create(db, owner["id"], "engine")
    return str(tokens.create(db, owner["id"], scopes=["repo"])[0])


def _hook(db: Any, url: str, options: dict[str, Any]) -> None:
    repo = repositories.find(db, "ada", "engine")
    assert repo is not None
    hooks.create(
        db, repo["id"], url=url, events=["push"], content_type="json", secret="s", options=options
    )


def push(token: str, guid: str, body: bytes | None = None) -> bytes:
    """Return the bytes of a request that posts a push. By default its body is small."""
    body = body or b'{"ref": "refs/heads/main", "filler": "%b"}' % (guid.encode() * 50)
    head = (
        "POST /ada/engine/events/push HTTP/1.1\r\nHost: tests\r\nUser-Agent: tests\r\n"
        f"Authorization: Bearer {token}\r\nX-GitHub-Delivery: {guid}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Poster:
    """A client that posts `count` events over connections, and records the accepted ones."""

    def __init__(self, site: Site, count: int, connections: int = 8) -> None:
        self._site = site
        self._waiting = [f"guid-{number}" for number in range(count)][::-1]
        self._connections = connections
        self.accepted: set[str] = set()
        self._marks: dict[int, asyncio.Event] = {}

    async def taken_in(self, count: int) -> None:
        """Wait until `count` events are accepted. Return in the event loop's next iteration."""
        if len(self.accepted) < count:
            await self._marks.setdefault(count, asyncio.Event()).wait()

    async def post(self) -> None:
        """Post until everything was accepted or the hub is gone."""
        await asyncio.gather(*(self._post() for _ in range(self._connections)))

    async def _post(self) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._site.port)
        except OSError:
            return
        try:
            while self._waiting and await self._accepted(reader, writer, self._waiting[-1]):
                pass
        finally:
            writer.close()

    async def _accepted(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guid: str
    ) -> bool:
        self._waiting.pop()
        writer.write(push(self._site.token, guid))
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            answer = await reader.readexactly(int(length[1]) if length else 0)
        except (EOFError, OSError):
            head, answer = b"", b""
        if head.startswith(b"HTTP/1.1 202 "):
            self.accepted.add(guid)
            if mark := self._marks.get(len(self.accepted)):
                mark.set()
            return b"\r\nconnection: close" not in head.lower()
        assert not head or head.startswith(b"HTTP/1.1 503 "), head + answer
        self._waiting.append(guid)
        return False
