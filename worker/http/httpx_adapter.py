"""Where httpx meets the transport: its requests, responses and exceptions, from and to ours."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx

from worker.http.answer import MAX_BODY, ExchangeResult, Withheld
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard, Refused
from worker.http.transport import HttpSender

DEADLINE = 30.0
_KINDS: dict[str, type[httpx.TransportError]] = {
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
_STAGES: list[tuple[type[httpx.HTTPError], str]] = [
    (httpx.ConnectTimeout, "timeout: connect"),
    (httpx.PoolTimeout, "timeout: connect"),
    (httpx.WriteTimeout, "timeout: send"),
    (httpx.TimeoutException, "timeout: wait"),
    (httpx.ConnectError, "connect"),
    (httpx.WriteError, "send"),
    (httpx.ReadError, "read"),
    (httpx.HTTPError, "protocol"),
]


class Over(httpx.AsyncBaseTransport):
    """A Transport for httpx. Compressed bodies are left to httpx: to be safe from them, read with
    `aiter_raw`.
    """

    def __init__(self, guard: Guard, poster: HttpSender) -> None:
        self._guard = guard
        self._poster = poster

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same exchange. Raises httpx exceptions; extensions: `keep`, `verify_tls`."""
        try:
            endpoint = self._guard.endpoint(str(request.url))
        except Refused as refused:
            raise httpx.ConnectError(f"guard: {refused}", request=request) from None
        body = await request.aread()
        answer = await self._poster.post(
            endpoint,
            request_head(request, endpoint, len(body)),
            body,
            deadline=exchange_deadline(request),
            verify_tls=request.extensions.get("verify_tls", True),
            keep=request.extensions.get("keep", MAX_BODY),
        )
        return to_httpx_response(answer, request)


class HttpxAdapter(httpx.AsyncBaseTransport):
    """Any httpx transport, for instance `httpx.MockTransport`, where a Poster is expected."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def post(
        self,
        endpoint: Endpoint,
        head: bytes,
        body: bytes,
        *,
        deadline: float,
        verify_tls: bool = True,
        keep: int = MAX_BODY,
        may_send: Callable[[], bool] | None = None,
        may_reach: Callable[[str], bool] | None = None,
    ) -> ExchangeResult:
        """As Transport.post, without a guard: the wrapped transport sees every request. Which
        address it dials is not known here, so `may_reach` is not asked.
        """
        if may_send is not None and not may_send():
            raise Withheld
        answer = ExchangeResult()
        extensions = {"verify_tls": verify_tls, "keep": keep}
        try:
            request = to_httpx_request(endpoint, head, body, extensions)
            async with asyncio.timeout(deadline):
                response = await self._transport.handle_async_request(request)
                await _read_response(response, answer, keep)
        except TimeoutError:
            answer.error = f"timeout: wait: no answer within {deadline:g} s"
        except httpx.HTTPError as error:
            stage = next(stage for kind, stage in _STAGES if isinstance(error, kind))
            answer.error = f"{stage}: {error}"
        return answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Hand a request on."""
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()

    async def aclose(self) -> None:
        """What httpx calls."""
        await self.close()


def to_httpx_request(
    endpoint: Endpoint, head: bytes, body: bytes, extensions: dict[str, Any]
) -> httpx.Request:
    """The httpx form of a ready request head and its body."""
    line, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, target, _ = line.split(b" ")
    url = httpx.URL(scheme=endpoint.scheme, host=endpoint.host, port=endpoint.port, raw_path=target)
    headers = [(name, value.strip()) for name, _, value in (one.partition(b":") for one in lines)]
    return httpx.Request(method.decode(), url, headers=headers, content=body, extensions=extensions)


def request_head(request: httpx.Request, endpoint: Endpoint, length: int) -> bytes:
    """The request head that is sent for a request of httpx. `length` of the body in bytes."""
    fields = [
        (name, value)
        for name, value in request.headers.raw
        if name.lower() not in (b"host", b"content-length", b"transfer-encoding")
    ]
    fields[:0] = [(b"Host", endpoint.authority.encode()), (b"Content-Length", b"%d" % length)]
    line = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), request.url.raw_path)
    return line + b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n"


def exchange_deadline(request: httpx.Request) -> float:
    """One deadline in seconds for the whole exchange: the longest of the timeouts of httpx."""
    given: dict[str, float | None] = request.extensions.get("timeout", {})
    return max((seconds for seconds in given.values() if seconds), default=DEADLINE)


def to_httpx_response(answer: ExchangeResult, request: httpx.Request) -> httpx.Response:
    """The httpx form of an answer. Raises the httpx exception for its error."""
    if answer.error or answer.status is None:
        error = answer.error or "protocol: no answer"
        stage = ": ".join(error.split(": ")[: 2 if error.startswith("timeout") else 1])
        raise _KINDS.get(stage, httpx.TransportError)(error, request=request)
    return httpx.Response(
        answer.status,
        headers=answer.fields(),
        stream=httpx.ByteStream(answer.body),
        request=request,
        extensions={"http_version": b"HTTP/1.1", "truncated": answer.truncated},
    )


async def _read_response(response: httpx.Response, answer: ExchangeResult, keep: int) -> None:
    answer.status = response.status_code
    answer.head = b"\r\n".join(b"%b: %b" % field for field in response.headers.raw)
    try:
        async for chunk in response.aiter_raw():
            answer.body += chunk
            if len(answer.body) > keep:
                answer.body, answer.truncated = answer.body[:keep], True
                break
    except httpx.StreamConsumed:  # a response that was given as content has been read already
        answer.body, answer.truncated = response.content[:keep], len(response.content) > keep
    finally:
        await response.aclose()
