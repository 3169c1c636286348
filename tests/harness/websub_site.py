"""A hub and a worker on a real socket, and a real subscriber, for the tests of WebSub."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
from clock_helpers import keep_lease
from engines import open_furnished
from local_server import NO_AUTHORITIES, listening
from waiting import PATIENCE, until

from hub.app import create_app
from hub.cli.http_server.server import bind, serving, url_of
from hub.cli.service.configuration import Settings
from store import Row, Store
from store.accounts import accounts, tokens
from store.clock import Clock
from store.delivery import delivery_queries
from store.delivery.websub import websub
from store.delivery.websub import websub_requests as requests
from store.repositories import repositories
from worker.http.callback_guard import CallbackGuard, make_guard
from worker.http.guard import Resolver
from worker.service import Worker

PUSH = b'{"ref": "refs/heads/main",  "z": "\xc3\xa9"}'


class Shifted(Clock):
    """The system's clock, `by` seconds ahead. If it stands still, `stopped` is the time in
    microseconds.
    """

    def __init__(self) -> None:
        self.by = 0.0
        self.stopped: int | None = None

    def now(self) -> int:
        moment = super().now() if self.stopped is None else self.stopped
        return moment + round(self.by * 1_000_000)

    def stop(self) -> None:
        self.stopped = super().now()

    def go_on(self) -> None:
        self.stopped = None


@dataclass
class Request:
    """A request as a subscriber received it."""

    method: str
    target: str
    fields: list[tuple[str, str]]
    body: bytes

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    def every(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def one(self, name: str) -> str:
        (value,) = self.every(name)
        return value

    def signed_by(self, secret: str) -> bool:
        method, _, given = self.one("X-Hub-Signature").partition("=")
        return given == hmac.new(secret.encode(), self.body, getattr(hashlib, method)).hexdigest()


Said = tuple[int, dict[str, str], bytes]


class Peer:
    """A server on loopback that acts as a subscriber, or as the publisher of a topic."""

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[Request] = []
        self.agrees = True
        self.status = 204
        self.fields: dict[str, str] = {}
        self.challenged: Callable[[Request], Said] = self._echo
        self.pages: dict[str, Said] = {}
        self.opened = asyncio.Event()
        self.opened.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def questions(self) -> list[Request]:
        return [one for one in self.seen if one.method == "GET" and "hub.mode" in one.query]

    @property
    def contents(self) -> list[Request]:
        return [one for one in self.seen if one.method == "POST"]

    @property
    def fetches(self) -> list[Request]:
        return [one for one in self.seen if one.method == "GET" and "hub.mode" not in one.query]

    def modes(self) -> list[str]:
        return [one.query["hub.mode"] for one in self.questions]

    def _echo(self, request: Request) -> Said:
        if not self.agrees:
            return 404, {}, b""
        return 200, {}, request.query.get("hub.challenge", "").encode()

    def _answer(self, request: Request) -> Said:
        if request.method == "POST":
            redirects = 300 <= self.status < 400
            more = {"Location": "/elsewhere"} if redirects else {}
            return self.status, self.fields | more, b""
        page = self.pages.get(request.target)
        if page is None:
            return self.challenged(request)
        if "ETag" in page[1] and request.every("If-None-Match") == [page[1]["ETag"]]:
            return 304, {}, b""
        return page

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await _request(reader)
            self.seen.append(request)
            status, fields, body = self._answer(request)
            if request.method == "POST":
                await self.opened.wait()
            lines = [f"HTTP/1.1 {status} Said"]
            lines += [f"{name}: {value}" for name, value in fields.items()]
            if status not in (204, 304):
                lines.append(f"Content-Length: {len(body)}")
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)


async def _request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in fields if name.lower() == "content-length"), 0)
    method, target, _ = first.split(" ")
    return Request(method, target, fields, await reader.readexactly(length))


@asynccontextmanager
async def peer() -> AsyncIterator[Peer]:
    made = Peer()
    async with listening(made.serve) as made.port:
        yield made


class Site:
    """A hub and a worker with the public ada/engine and the private ada/secret, and methods that
    send requests to the hub.
    """

    def __init__(self, store: Store, settings: Settings, clock: Shifted, token: str) -> None:
        self.store, self.settings, self.clock = store, settings, clock
        self.url = ""
        self.client: httpx.AsyncClient
        self.token = token or store.write_sync(_people)
        self.worker: Worker

    @property
    def hub(self) -> str:
        return f"{self.url}/hub/websub"

    def topic(self, path: str = "engine/events/push") -> str:
        return f"{self.url}/ada/{path}"

    async def ask(self, **fields: str) -> httpx.Response:
        """Post a form to the hub; `mode` stands for hub.mode and so on, `_x` for x."""
        form = {k[1:] if k.startswith("_") else f"hub.{k}": v for k, v in fields.items()}
        return await self.client.post(self.hub, data=form)

    async def subscribe(self, callback: str, **fields: str) -> int:
        """Subscribe to pushes, and wait until the request is verified. Return the id of the
        subscription.
        """
        given = {"mode": "subscribe", "topic": self.topic(), "callback": callback} | fields
        before = self.asked()
        answer = await self.ask(**given)
        assert answer.status_code == 202, answer.text
        await self.settled(before + 1)
        return int(self.rows()[0]["id"])

    def asked(self) -> int:
        return int(self.store.read_sync(lambda db: db.value("SELECT count(*) FROM websub_request")))

    async def settled(self, many: int = 0) -> None:
        """Wait until there are at least `many` subscription requests, and all of them are done."""

        def done() -> bool:
            rows = self.store.read_sync(requests.page, limit=1000)
            return len(rows) >= many and all(row["done_at"] is not None for row in rows)

        await until(done)

    async def push(self, body: bytes = PUSH, path: str = "engine/events/push") -> None:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        answer = await self.client.post(self.topic(path), content=body, headers=headers)
        assert answer.status_code == 202, answer.text

    def rows(self, *, ended: bool = False) -> list[Row]:
        return self.store.read_sync(websub.page, limit=100, ended=ended)

    def deliveries(self) -> list[Row]:
        return self.store.read_sync(delivery_queries.page, limit=1000)[::-1]

    def states(self) -> list[str]:
        return [str(row["state"]) for row in self.deliveries()]

    async def over(self) -> list[Row]:
        """Wait until no delivery waits that is due. Return all deliveries."""

        def done() -> bool:
            now = self.clock.now()
            return all(r["state"] != "waiting" or r["due_at"] > now for r in self.deliveries())

        await until(done)
        return self.deliveries()

    async def advance(self, seconds: float) -> None:
        """Move the clock, and renew the worker's lease, as its polls would do in that time."""
        await keep_lease(self.worker, self.store, seconds)
        self.clock.by += seconds

    async def pass_time(self, seconds: float) -> None:
        """Move the clock, and have the worker poll for deliveries and for WebSub requests."""
        await self.advance(seconds)
        await self.worker.poll()
        await self.worker.websub.tick()


def _people(db: Any) -> str:
    owner = accounts.create(db, "ada")
    repositories.create(db, owner["id"], "engine")
    repositories.create(db, owner["id"], "secret", private=True)
    return str(tokens.create(db, owner["id"], scopes=["repo"])[0])


@asynccontextmanager
async def site(
    folder: Path,
    url: str = "sqlite",
    seeded: str = "",
    resolver: Resolver | None = None,
    **given: Any,
) -> AsyncIterator[Site]:
    """Run a site for the length of the block. If the store already has the user and repositories,
    `seeded` is the user's token.
    """
    clock = Shifted()
    store = open_furnished(url, folder, clock)
    chosen = {"websub": True, "port": 0, "allow_networks": ["127.0.0.0/8"], "jitter": 0} | given
    made = Site(store, Settings.model_validate(chosen), clock, seeded)
    guard = make_guard(made.settings, resolver)
    made.worker = Worker(store, made.settings, guard=guard)
    try:
        with bind("127.0.0.1", 0) as bound:
            made.url = url_of(bound)
            settings = made.settings.model_copy(update={"port": bound.getsockname()[1]})
            app = create_app(store, settings, CallbackGuard(guard))
            await made.worker.start()
            async with (
                serving(app, bound),
                httpx.AsyncClient(timeout=PATIENCE, verify=NO_AUTHORITIES) as made.client,
            ):
                yield made
    finally:
        await made.worker.stop()
        guard.close()
        await store.close()
