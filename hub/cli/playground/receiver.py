"""A receiver of webhooks, which checks their signatures and answers them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from hub.cli.playground.received_request import ReceivedRequest, read_request

LARGEST = 26 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    """The response to a delivery. `problem` says why there is no response of the application."""

    status: int
    body: bytes = b"\n"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    problem: str = ""


Answerer = Callable[[ReceivedRequest], Awaitable[ReceiverAnswer]]


@dataclass(frozen=True, slots=True)
class ReceivedDelivery:
    """A delivery and its answer. `answer` is None if the sender left before it."""

    request: ReceivedRequest
    answer: ReceiverAnswer | None
    seconds: float


class Receiver:
    """An ASGI application that answers each request with `answer`, and then shows it."""

    def __init__(
        self,
        show: Callable[[ReceivedDelivery], None],
        *,
        answer: Answerer,
        secret: str | None,
    ) -> None:
        self._show = show
        self._answer = answer
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return
        if body is None:
            await PlainTextResponse("too large\n", 413)(scope, receive, send)
            return
        received = read_request(request, body, self._secret)
        began = time.monotonic()
        answer = await _unless_disconnected(receive, self._answer(received))
        if answer is not None:
            await _response(answer)(scope, receive, send)
        self._show(ReceivedDelivery(received, answer, time.monotonic() - began))


async def _body(request: Request) -> bytes | None:
    """Return the body, or None if it is larger than any delivery."""
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > LARGEST:
            return None
    return bytes(chunks)


async def _unless_disconnected(
    receive: Receive, answer: Awaitable[ReceiverAnswer]
) -> ReceiverAnswer | None:
    """Return the answer, or None if the sender disconnects before."""
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        answering.cancel()
        leaving.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _response(answer: ReceiverAnswer) -> Response:
    bodiless = answer.status in (204, 304)
    response = Response(b"" if bodiless else answer.body, answer.status)
    response.raw_headers += answer.headers
    return response


def fixed(status: int, delay: float) -> Answerer:
    """Return an answerer that gives every delivery this status, after `delay` seconds."""

    async def answer(_: ReceivedRequest) -> ReceiverAnswer:
        await asyncio.sleep(delay)
        return ReceiverAnswer(status)

    return answer
