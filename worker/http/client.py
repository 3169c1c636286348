"""The HTTP client for everything except deliveries: httpx over the guarded transport."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from worker.http.answer import MAX_BODY, ExchangeResult
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard, Refused
from worker.http.transport import HttpSender

USER_AGENT = "tocsin (WebSub; +https://www.w3.org/TR/websub/)"
DEADLINE = 30.0
# Of header values: it can express every byte.
ENCODING = "iso-8859-1"
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
    is sent byte for byte), `max_bytes` of the body that are read, `verify_tls`. Extension of a
    response: `truncated`. A compressed body may be large: read it with `aiter_raw`.
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
    return httpx.Response(
        answer.status,
        headers=answer.fields(),
        stream=_Body(answer.body, error),
        request=request,
        extensions={"http_version": b"HTTP/1.1", "truncated": answer.truncated},
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `body` is as it was sent, not decompressed. It is `truncated` if there was more.
    If it broke off, `error` says why.
    """

    status: int
    headers: httpx.Headers
    body: bytes
    truncated: bool
    error: str | None

    def header(self, name: str) -> str | None:
        """The first value of a header, None if there is none."""
        return next(iter(self.headers.get_list(name)), None)


class GuardedClient:
    """Sends requests to endpoints of the guard. It follows no redirect and keeps no cookie."""

    def __init__(self, guard: Guard, sender: HttpSender) -> None:
        self._client = httpx.AsyncClient(
            transport=GuardedTransport(guard, sender),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=False,
        )
        # HTTP/1.1 says so itself.
        del self._client.headers["connection"]

    async def request(
        self,
        method: str,
        endpoint: Endpoint,
        *,
        deadline: float,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = MAX_BODY,
    ) -> Reply:
        """Send a request, and read so many bytes of the answer. `deadline` in seconds covers
        everything. Raises httpx.TransportError, "stage: message", if no answer came.
        """
        url = httpx.URL(scheme=endpoint.scheme, host=endpoint.host, port=endpoint.port, path="/")
        fields = httpx.Headers(headers, encoding=ENCODING)
        extensions = {"endpoint": endpoint, "max_bytes": max_bytes}
        async with self._client.stream(
            method, url, headers=fields, timeout=deadline, extensions=extensions
        ) as response:
            body, error = b"", None
            try:
                async for part in response.aiter_raw():
                    body += part
            except httpx.TransportError as broken:
                error = str(broken)
            truncated = response.extensions["truncated"]
            response.headers.encoding = ENCODING
            return Reply(response.status_code, response.headers, body, truncated, error)

    async def close(self) -> None:
        """Close the client. The transport is its owner's."""
        await self._client.aclose()
