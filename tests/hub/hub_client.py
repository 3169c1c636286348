"""Clients of a hub under test. They check each response against its document and the contract."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import httpx
from contract_checks import hold, hold_event
from httpx import USE_CLIENT_DEFAULT

from hub.app import create_app
from hub.auth import authentications, rate_counters
from hub.settings import HubSettings
from store import Store
from store.delivery import outbox
from store.delivery.incoming import IncomingEvent
from store.errors import Invalid
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings

if find_spec("sniffio") is None:
    # Without this entry, httpx searches every folder of `sys.path` for sniffio with every request.
    sys.modules["sniffio"] = None  # type: ignore[assignment]


def _if_set(extract: Callable[..., None]) -> Callable[..., None]:
    def extracted(cookies: httpx.Cookies, response: httpx.Response) -> None:
        if "set-cookie" in response.headers:
            extract(cookies, response)

    return extracted


# httpx converts each response for urllib to extract cookies, even if the response has none.
httpx.Cookies.extract_cookies = _if_set(httpx.Cookies.extract_cookies)  # type: ignore[method-assign]


def _held(change: Callable[..., IncomingEvent]) -> Callable[..., IncomingEvent]:
    def made(*given: Any) -> IncomingEvent:
        arrival = change(*given)
        hold_event(arrival.name, json.loads(arrival.body))
        return arrival

    return made


# The hub writes them every second. Tests that count statements would count these writes, too.
rate_counters.INTERVAL = authentications.DELAY = 3600.0

# This checks every event that a test makes the hub emit.
outbox.make_event = _held(outbox.make_event)


class DirectTransport(httpx.ASGITransport):
    """Calls an application as httpx's transport does, but in fewer steps.

    It passes the body of a request and of a response on in one part, because neither is streamed.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not isinstance(request.stream, httpx.ByteStream):
            return await super().handle_async_request(request)
        # A request that follows a redirect has not read its body yet.
        exchange = Exchange(request.method, await request.aread())
        await self.app(self._scope(request), exchange.receive, exchange.send)
        return exchange.response()

    def _scope(self, request: httpx.Request) -> dict[str, Any]:
        url = request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "server": (url.host, url.port),
            "client": self.client,
            "root_path": self.root_path,
        }


class Exchange:
    """A request and its response, in the messages of ASGI."""

    def __init__(self, method: str, body: bytes) -> None:
        self._method, self._body = method, body
        self._received = False
        self._start: dict[str, Any] = {}
        self._parts: list[bytes] = []
        self._ended = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        if self._received:
            await self._ended.wait()
            return {"type": "http.disconnect"}
        self._received = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: Any) -> None:
        assert not self._ended.is_set()
        if message["type"] == "http.response.start":
            assert not self._start
            self._start = message
            return
        if self._method != "HEAD":
            self._parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            self._ended.set()

    def response(self) -> httpx.Response:
        assert self._ended.is_set()
        headers = self._start.get("headers", [])
        return DirectResponse(self._start["status"], headers, b"".join(self._parts))


class DirectResponse(httpx.Response):
    """A response whose body has arrived in one part. httpx reads each body in many steps."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        super().__init__(status, headers=headers, stream=httpx.ByteStream(body))
        self._body = body

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
        if chunk_size is None and not self.is_closed and "content-encoding" not in self.headers:
            self.is_stream_consumed = self.is_closed = True
            yield self._body
        else:
            yield from super().iter_bytes(chunk_size)


class DirectClient(httpx.AsyncClient):
    """A client that does what httpx's client does, but in fewer steps.

    It remembers the URLs of its requests, because tests repeat many of them, and httpx parses each
    URL twice. It leaves out httpx's loops for authentication and redirects if a request needs
    neither. Both would take a quarter of the time of a request.
    """

    def __init__(self, transport: DirectTransport, **given: Any) -> None:
        super().__init__(transport=transport, **given)
        self._direct = transport
        self._known: dict[str, httpx.URL] = {}

    def build_request(
        self, method: str, url: httpx.URL | str, *, params: Any = None, **given: Any
    ) -> httpx.Request:
        known = self._known.get(url, url) if isinstance(url, str) else url
        request = super().build_request(method, known, params=params, **given)
        if known is url and isinstance(url, str) and params is None:
            self._known[url] = request.url
        return request

    async def send(self, request: httpx.Request, **given: Any) -> httpx.Response:
        how = {name: value for name, value in given.items() if value is not USE_CLIENT_DEFAULT}
        looped = self.auth is not None or self.follow_redirects or request.url.userinfo
        streamed = not isinstance(request.stream, httpx.ByteStream)
        if how or looped or streamed or self.is_closed:
            return await super().send(request, **how)
        return await self._sent(request)

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        response = await self._direct.handle_async_request(request)
        response.request = request
        response.read()
        self.cookies.extract_cookies(response)
        for hook in self.event_hooks["response"]:
            await hook(response)
        if response.has_redirect_location:
            # Without its loop, httpx builds the next request, too, and so checks the URL.
            response.next_request = self._build_redirect_request(request, response)
        return response


async def judge(url: str) -> None:
    """Raise Invalid for a URL that contains `forbidden` or is not http or https."""
    if not url.startswith(("http://", "https://")) or "forbidden" in url:
        raise Invalid(f"{url} is refused: the test says so")


def holding(settings: HubSettings) -> Callable[[httpx.Response], Awaitable[None]]:
    """A response hook for httpx that checks every response of a hub with these settings.

    It does not check a hub that maps words, because the documents do not have these words.
    """
    prefix = httpx.URL(settings.root()).path.rstrip("/")

    async def look(answer: httpx.Response) -> None:
        await answer.aread()
        if not settings.vocabulary:
            hold(answer, prefix)

    return look


@asynccontextmanager
async def open_client(
    store: Store, settings: HubSettings, **given: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of a new hub; its paths are relative to the API's root.

    httpx gets the arguments in `given`. The store is closed at the end.
    """
    app = create_app(store, settings, judge, pull_queue=FetchQueue(WorkerSettings()))
    client = DirectClient(
        transport=DirectTransport(app),
        base_url=settings.root(),
        event_hooks={"response": [holding(settings)]},
        **given,
    )
    async with client:
        yield client
    await store.close()


async def anonymously(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """The response to a GET request without the client's credentials."""
    request = client.build_request("GET", path)
    request.headers.pop("Authorization", None)
    return await client.send(request)
