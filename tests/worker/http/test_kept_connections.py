"""Kept connections that the receiver closes: some requests are sent again at once, others fail.

If the receiver may have read the request, the attempt fails, and only the schedule repeats it.
"""

import asyncio
import ctypes
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from time import perf_counter

import pytest
from receivers import LOOPBACK, OK, Call, Receiver, ok, serving
from transports import anyio_backend, opened, post, settled
from worker_harness import WorkerHarness, settle, until

from worker.http import connection, idle_limits, starved_origins
from worker.http.answer import Withheld
from worker.http.guard import Guard
from worker.http.idle_limits import IdleLimits
from worker.http.transport import ExchangeResult, Transport

__all__ = ["anyio_backend"]  # runs the tests with both event loops

CLOSED = "wait: connection closed before an answer"
RESET = "wait: Connection reset by peer"


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with opened() as transport:
        yield transport


def close(call: Call) -> None:
    call.writer.close()


End = Callable[[Call], None]
ENDS: list[tuple[End, str]] = [(close, CLOSED), (Call.reset, RESET)]


class Second:
    """A handler that answers the first request of a connection, but not the second.

    It ends the connection once it has read the second request and `now` is set. Requests on later
    connections are answered.
    """

    def __init__(self, end: End) -> None:
        self._end = end
        self.now = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        if call.receiver.connections > 1:
            await ok(call)
        await call.request()
        await call.say(OK)
        await call.request()
        await self.now.wait()
        self._end(call)


@pytest.mark.parametrize(("end", "error"), ENDS)
@pytest.mark.parametrize("later", [False, True])
async def test_a_request_that_was_read_is_not_sent_again(
    transport: Transport, end: End, error: str, later: bool
) -> None:
    handler = Second(end)
    async with serving(handler) as receiver:
        assert (await post(transport, receiver)).status == 200
        asked = asyncio.create_task(post(transport, receiver))
        if later:
            await until(lambda: len(receiver.bodies) == 2)
            await settle()
        handler.now.set()
        answer = await asked
        assert (answer.status, answer.error) == (None, error)
        await settle()
        assert (len(receiver.bodies), receiver.connections) == (2, 1)
        assert (await post(transport, receiver)).status == 200


@pytest.mark.parametrize(("end", "error"), ENDS)
async def test_each_attempt_is_recorded_and_the_schedule_repeats_it(
    harness: WorkerHarness, end: End, error: str
) -> None:
    handler = Second(end)
    handler.now.set()
    async with serving(handler) as receiver:
        hook_id = harness.hook(receiver.url)
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1)
        await harness.event()
        failed = (await harness.recorded(hook_id, 2))[-1]
        await settle()
        assert len(receiver.bodies) == 2, "the delivery was sent again before its retry was due"
        await harness.over(delivered=1, waiting=1)
        await harness.pass_time(5.1)
        await harness.over(delivered=2)
        assert len(receiver.bodies) == 3
    rows = harness.attempts(hook_id)
    assert [(row["error"], row["status_code"]) for row in rows] == [
        (None, 200), (error, None), (None, 200)
    ]  # fmt: skip
    assert failed["id"] == rows[1]["id"]
    assert [row["number"] for row in rows] == [1, 1, 2]
    await harness.rest()


class Held:
    """A handler that answers each request. Tests use its `sockets` without the event loop."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []

    async def __call__(self, call: Call) -> None:
        sock = call.writer.get_extra_info("socket")
        self.sockets.append(socket.socket(fileno=os.dup(sock.fileno())))
        await ok(call)


def shut(sock: socket.socket) -> None:
    sock.shutdown(socket.SHUT_RDWR)


def disconnect(sock: socket.socket) -> None:
    """Reset the connection, although the event loop still has a socket for it."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    address = struct.pack("H14x", socket.AF_UNSPEC)
    assert ctypes.CDLL(None).connect(sock.fileno(), address, len(address)) == 0


def speak(sock: socket.socket) -> None:
    sock.sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("end", [shut, disconnect, speak])
async def test_a_connection_closed_before_the_request_costs_no_attempt(
    transport: Transport, end: Callable[[socket.socket], None]
) -> None:
    transport.pool.fresh_seconds = -1.0
    handler = Held()
    async with serving(handler) as receiver:
        assert (await post(transport, receiver)).status == 200
        # The event loop makes no pass between this end and the next request.
        end(handler.sockets[0])
        answer = await post(transport, receiver)
        assert (answer.status, answer.error) == (200, None)
        assert (len(receiver.bodies), receiver.connections) == (2, 2)
    for sock in handler.sockets:
        sock.close()


async def test_a_connection_that_has_just_been_used_is_not_looked_at(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport.pool.fresh_seconds = 3600.0
    monkeypatch.delattr(connection.select, "poll")
    async with serving(ok) as receiver:
        for _ in range(3):
            assert (await post(transport, receiver)).status == 200


async def get(transport: Transport, receiver: Receiver) -> ExchangeResult:
    endpoint = Guard(allow_networks=LOOPBACK).endpoint(receiver.url)
    head = f"GET {endpoint.target} HTTP/1.1\r\nHost: {endpoint.authority}\r\n\r\n"
    return await transport.post(endpoint, head.encode(), b"", deadline=60)


async def test_a_request_that_changes_nothing_is_sent_again_once(transport: Transport) -> None:
    handler = Second(close)
    handler.now.set()
    async with serving(handler) as receiver:
        assert (await get(transport, receiver)).status == 200
        assert (await get(transport, receiver)).status == 200
        assert (len(receiver.heads), receiver.connections) == (3, 2)


async def test_on_a_new_connection_no_request_is_sent_again(transport: Transport) -> None:
    async def closes(call: Call) -> None:
        await call.request()

    async with serving(closes) as receiver:
        assert (await get(transport, receiver)).error == CLOSED
        assert receiver.connections == 1


@pytest.mark.parametrize("kept", [False, True])
async def test_a_withheld_request_is_not_sent(transport: Transport, kept: bool) -> None:
    async with serving(ok) as receiver:
        if kept:
            await post(transport, receiver)
        with pytest.raises(Withheld):
            await post(transport, receiver, may_send=lambda: False)
        assert (await post(transport, receiver, may_send=lambda: True)).status == 200
        await settle()
        assert len(receiver.bodies) == 1 + kept
        assert receiver.connections == 1


# Receivers that close after each answer without announcing it.


async def test_a_receiver_may_serve_one_connection_at_a_time(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the next connection only when the one before it is closed."""
    monkeypatch.setattr(starved_origins, "SHARE", 0.0)
    turn = asyncio.Lock()

    async def serial(call: Call) -> None:
        async with turn:
            await ok(call)

    async with serving(serial) as receiver:
        for _ in range(2):
            answers = await asyncio.gather(*(post(transport, receiver) for _ in range(4)))
            assert [answer.status for answer in answers] == [200] * 4
        monkeypatch.undo()
        before = receiver.connections
        for _ in range(3):
            assert (await post(transport, receiver)).status == 200
        assert receiver.connections <= before + 1, "afterwards it is kept"


async def once(call: Call) -> None:
    await call.request()
    call.writer.write(OK)


async def test_closing_after_each_answer_costs_one_failure_at_most(transport: Transport) -> None:
    async with serving(once) as receiver:
        answers = [await post(transport, receiver) for _ in range(30)]
        assert [answer.status for answer in answers].count(None) <= 1
        assert receiver.connections >= 29


async def test_the_doubt_ends_with_a_connection_that_stays_open(transport: Transport) -> None:
    async def only_first(call: Call) -> None:
        await (once if call.receiver.connections == 1 else ok)(call)

    async with serving(only_first) as receiver:
        await post(transport, receiver)
        await settled(transport, 0)
        # The origin is doubted, so a connection that was just used is not used again.
        for count in (2, 3):
            assert (await post(transport, receiver)).status == 200
            assert receiver.connections == count
        transport.pool.doubted_rest = 0.0
        assert (await post(transport, receiver)).status == 200
        transport.pool.doubted_rest = 3600.0
        for _ in range(3):
            assert (await post(transport, receiver)).status == 200
        assert receiver.connections == 3


async def test_remembered_doubts_are_bounded(transport: Transport) -> None:
    transport.pool.max_doubted = 2
    origins = []
    for _ in range(4):
        async with serving(once) as receiver:
            await post(transport, receiver)
            await settled(transport, 0)
        origins.append(("http", "127.0.0.1", receiver.port, True))
    assert [transport.pool.is_doubted(each) for each in origins] == [False, False, True, True]


# Receivers that close idle connections after a time.


class Leaving:
    """A handler that ends its connections when `leave` is called."""

    def __init__(self) -> None:
        self._calls: list[Call] = []

    async def __call__(self, call: Call) -> None:
        self._calls.append(call)
        await ok(call)

    def leave(self) -> None:
        for call in self._calls:
            call.writer.close()


class Watch:
    """A clock that goes on by itself, and can be moved."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return perf_counter() + self.ahead


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    for module in (connection, idle_limits):
        monkeypatch.setattr(module, "perf_counter", watch)
    return watch


async def closed_when_idle(
    transport: Transport, receiver: Receiver, handler: Leaving, watch: Watch
) -> None:
    await post(transport, receiver)
    watch.ahead += 600
    handler.leave()
    await settled(transport, 0)


async def test_a_connection_is_not_used_shortly_before_its_receiver_closes_it(
    transport: Transport, watch: Watch
) -> None:
    handler = Leaving()
    async with serving(handler) as receiver:
        await closed_when_idle(transport, receiver, handler, watch)
        for seconds, connections in ((0, 2), (200, 2), (500, 3), (200, 3), (500, 4), (500, 5)):
            watch.ahead += seconds
            assert (await post(transport, receiver)).status == 200
            assert receiver.connections == connections
        # The first of them stays open, to see when its receiver closes it.
        await settled(transport, 2)


@pytest.mark.parametrize("end", [close, Call.reset])
async def test_a_request_that_came_too_late_shows_how_long_its_receiver_waits(
    transport: Transport, end: End, watch: Watch
) -> None:
    handler = Second(end)
    handler.now.set()
    async with serving(handler) as receiver:
        await post(transport, receiver)
        watch.ahead += 600
        assert (await post(transport, receiver)).status is None
        for seconds, connections in ((0, 2), (200, 2), (500, 3)):
            watch.ahead += seconds
            assert (await post(transport, receiver)).status == 200
            assert receiver.connections == connections


async def test_a_connection_that_stays_open_ends_the_limit() -> None:
    async with opened(idle_seconds=0.05) as transport, serving(ok) as receiver:
        limits = transport.pool.idle_limits.seconds
        limits["http", "127.0.0.1", receiver.port, True] = 0.0
        await post(transport, receiver)
        await settled(transport, 0)
        assert limits == {}


async def test_remembered_idle_limits_are_bounded(transport: Transport, watch: Watch) -> None:
    transport.pool.idle_limits = IdleLimits(2)
    origins = []
    for _ in range(4):
        handler = Leaving()
        async with serving(handler) as receiver:
            await closed_when_idle(transport, receiver, handler, watch)
        origins.append(("http", "127.0.0.1", receiver.port, True))
    assert list(transport.pool.idle_limits.seconds) == origins[2:]
