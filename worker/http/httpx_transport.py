"""The guarded transport as a transport of httpx, and a client over it."""

from collections.abc import AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from worker.http.answer import MAX_BODY, ExchangeResult
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard, Refused
from worker.http.transport import USER_AGENT, HttpSender

DEADLINE = 30.0
_ERRORS: dict[str, type[httpx.TransportError]] = {
    "guard": httpx.ConnectError,
    "resolve": httpx.ConnectError,
    "connect": httpx.ConnectError,
    "tls": httpx.ConnectError,
    "send": httpx.WriteError,
    "wait": httpx.ReadError,
    "read": httpx.ReadError,
    "protocol": httpx.RemoteProtocolError,
    "timeout: resolve": httpx.ConnectTimeout,
    "timeout: connect": httpx.ConnectTimeout,
    "timeout: tls": httpx.ConnectTimeout,
    "timeout: send": httpx.WriteTimeout,
    "timeout: wait": httpx.ReadTimeout,
    "timeout: read": httpx.ReadTimeout,
}


class GuardedTransport(httpx.AsyncBaseTransport):
    """The worker's `Transport` for httpx.

    Extensions of a request: `endpoint` (an Endpoint that the guard has made of the URL: its target
    is sent byte for byte), `max_bytes` of the body that are read, `verify_tls`. Extensions of a
    response: `headers`, which include a Location, and `truncated`. A compressed body may be large:
    read it with `aiter_raw`.
    """

    def __init__(self, guard: Guard, sender: HttpSender) -> None:
        self._guard = guard
        self._sender = sender

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Exchange a request for a response. Raises the exceptions of httpx."""
        try:
            endpoint = request.extensions.get("endpoint") or self._guard.endpoint(str(request.url))
        except Refused as refused:
            raise httpx.ConnectError(f"guard: {refused}", request=request) from None
        body = await request.aread()
        answer = await self._sender.post(
            endpoint,
            _head(request, endpoint, len(body)),
            body,
            deadline=_deadline(request),
            verify_tls=request.extensions.get("verify_tls", True),
            keep=request.extensions.get("max_bytes", MAX_BODY),
        )
        return _response(answer, request)


class _Body(httpx.AsyncByteStream):
    """The body of an answer, and the error that it ended with."""

    def __init__(self, body: bytes, error: httpx.TransportError | None) -> None:
        self._body, self._error = body, error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body
        if self._error is not None:
            raise self._error


def _head(request: httpx.Request, endpoint: Endpoint, length: int) -> bytes:
    """The head of a request with a body of so many bytes."""
    own = (b"host", b"content-length", b"transfer-encoding")
    fields = [field for field in request.headers.raw if field[0].lower() not in own]
    fields.insert(0, (b"Host", endpoint.authority.encode()))
    if length or request.method not in ("GET", "HEAD"):
        fields.insert(1, (b"Content-Length", b"%d" % length))
    target = endpoint.target.encode("latin-1")
    line = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), target)
    return line + b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n"


def _deadline(request: httpx.Request) -> float:
    """One deadline in seconds for the whole exchange: the longest of the timeouts of httpx."""
    given: dict[str, float | None] = request.extensions.get("timeout", {})
    return max((seconds for seconds in given.values() if seconds), default=DEADLINE)


def _response(answer: ExchangeResult, request: httpx.Request) -> httpx.Response:
    """The response of httpx. Raises the error if no head came, else reading the body does."""
    text = answer.error if answer.status is not None else answer.error or "protocol: no answer"
    error = None
    if text is not None:
        stage = ": ".join(text.split(": ")[: 2 if text.startswith("timeout") else 1])
        error = _ERRORS.get(stage, httpx.TransportError)(text, request=request)
    if answer.status is None:
        assert error is not None
        raise error
    headers = answer.fields()
    return httpx.Response(
        answer.status,
        # A client interprets even a Location that it does not follow, and raises errors of several
        # kinds if it does not accept one.
        headers=[field for field in headers if field[0] != b"location"],
        stream=_Body(answer.body, error),
        request=request,
        extensions={
            "http_version": b"HTTP/1.1",
            "headers": headers,
            "truncated": answer.truncated,
        },
    )


def open_client(guard: Guard, sender: HttpSender) -> httpx.AsyncClient:
    """A client that follows no redirect, keeps no cookie and ignores proxies of the environment."""
    client = httpx.AsyncClient(
        transport=GuardedTransport(guard, sender),
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=False,
    )
    # Connections of HTTP/1.1 persist without this header.
    del client.headers["connection"]
    return client
