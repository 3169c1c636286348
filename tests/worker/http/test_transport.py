"""The transport with receivers on real sockets, with asyncio's event loop and uvloop."""

import asyncio
import gzip
import os
import resource
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from receivers import (
    LOOPBACK,
    OK,
    Call,
    Receiver,
    deaf,
    ok,
    repeats,
    says,
    self_signed,
    serving,
    silent,
)
from transports import anyio_backend, opened, post, settled
from waiting import PATIENCE

from worker.http import connection
from worker.http.answer import NoDescriptor, NoThread
from worker.http.client import GuardedClient, RequestFailed
from worker.http.guard import Endpoint, Guard
from worker.http.httpx_transport import GuardedTransport
from worker.http.transport import MAX_BODY, ExchangeResult, Transport

__all__ = ["anyio_backend"]  # runs the tests with both event loops

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with opened() as transport:
        yield transport


async def late(
    transport: Transport, to: Receiver | str, stage: str, seconds: float, body: bytes = b"{}"
) -> tuple[ExchangeResult, float]:
    """Return an answer that was too late at a stage, and its deadline (seconds).

    If a deadline ends at an earlier stage, because the machine is busy, longer ones are tried.
    """
    for deadline in deadlines(seconds):
        if isinstance(to, Receiver):
            to.closed.clear()
        async with asyncio.timeout(PATIENCE):
            answer = await post(transport, to, body, deadline=deadline)
        assert answer.error
        if stage in answer.error.split(": "):
            break
    return answer, deadline


def deadlines(first: float) -> Iterator[float]:
    """Deadlines in seconds, each five times as long as the one before."""
    while first < PATIENCE / 2:
        yield first
        first *= 5


class Standstill:
    """A receiver in a thread, which answers one request while the event loop stands still."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self.asked, self._stands = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def _answer(self) -> None:
        with self._listening, self._listening.accept()[0] as peer, suppress(OSError):
            peer.recv(65536)
            self.asked.set()
            self._stands.wait(PATIENCE)
            peer.sendall(OK)

    def last(self, seconds: float) -> None:
        """Stand still for so long, and until the answer is there. Another call does nothing."""
        if not self._stands.is_set():
            self._stands.set()
            self._thread.join(PATIENCE)
            time.sleep(seconds)


async def test_an_answer_that_came_during_a_standstill_counts(transport: Transport):
    """A machine sleeps, or is moved, while the event loop waits for answers."""
    loop = asyncio.get_running_loop()
    for deadline in deadlines(0.2):
        standstill = Standstill()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            posting = asyncio.create_task(post(transport, standstill.url, deadline=deadline))
            await asyncio.to_thread(standstill.asked.wait, PATIENCE)
            # On a busy machine, the deadline may be over.
            seconds = 0.0 if posting.done() else deadline + 2 * connection.STANDSTILL
            loop.add_reader(ours, partial(standstill.last, seconds))
            theirs.send(b"x")
            reply = await posting
            loop.remove_reader(ours)
        standstill.last(0)
        if seconds:
            break
    assert (reply.status, reply.error) == (200, None)


async def test_an_answer_is_read_with_its_headers(transport: Transport):
    answer_bytes = b"HTTP/1.1 201 Made\r\nContent-Length: 2\r\nX-A:  b \r\nX-a: c\r\n\r\nok"
    async with serving(says(answer_bytes)) as receiver:
        answer = await post(transport, receiver, b'{"a":1}')
    assert (answer.status, answer.body, answer.error) == (201, b"ok", None)
    assert answer.head == b"Content-Length: 2\r\nX-A:  b \r\nX-a: c"
    assert answer.fields() == [(b"content-length", b"2"), (b"x-a", b"b"), (b"x-a", b"c")]
    assert (answer.truncated, answer.address) == (False, "127.0.0.1")
    assert set(answer.timings) == {"resolve", "connect", "wait", "read", "total"}
    assert answer.timings["total"] >= answer.timings["wait"] >= 0
    assert receiver.bodies == [b'{"a":1}']
    assert receiver.heads[0].startswith(b"POST /hook?x=%41 HTTP/1.1\r\nHost: 127.0.0.1:")


async def test_connections_are_kept(transport: Transport):
    async with serving(ok) as receiver:
        for _ in range(5):
            answer = await post(transport, receiver)
            assert answer.status == 200
        assert receiver.connections == 1
        assert set(answer.timings) == {"wait", "read", "total"}
        await asyncio.gather(*[post(transport, receiver) for _ in range(3)])
        assert receiver.connections == 3
        assert len(transport.pool) == 3


@pytest.mark.parametrize(
    "parts",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"],
        [b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
        [OK + b"HTTP/1.1 200 OK\r\n"],
        [OK + b"rubbish"],
    ],
)
async def test_unusable_connections_are_not_kept(transport: Transport, parts: list[bytes]):
    async with serving(says(*parts)) as receiver:
        for _ in range(2):
            answer = await post(transport, receiver)
            assert (answer.status, answer.error) == (200, None)
        assert receiver.connections == 2


async def test_the_number_of_idle_connections_is_bounded():
    async with serving(ok) as one, serving(ok) as other:
        async with opened(idle_per_origin=2) as transport:
            await asyncio.gather(*[post(transport, one) for _ in range(4)])
            await settled(transport, 2)
        async with opened(idle_total=3) as transport:
            await asyncio.gather(*[post(transport, one) for _ in range(2)])
            await asyncio.gather(*[post(transport, other) for _ in range(2)])
            await settled(transport, 3)


async def test_idle_connections_are_swept():
    async with serving(ok) as receiver, opened(idle_seconds=0.05) as transport:
        await post(transport, receiver)
        assert len(transport.pool) == 1
        async with asyncio.timeout(PATIENCE):
            await receiver.closed.wait()
        await settled(transport, 0)


async def test_a_kept_connection_that_speaks_is_closed(transport: Transport):
    async def talkative(call: Call) -> None:
        await call.request()
        await call.say(OK)
        await asyncio.sleep(0.02)
        await call.say(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await call.gone()

    async with serving(talkative) as receiver:
        assert (await post(transport, receiver)).status == 200
        async with asyncio.timeout(PATIENCE):
            await receiver.closed.wait()
        assert (await post(transport, receiver)).status == 200
        assert receiver.connections == 2


async def test_a_banner_is_no_answer(transport: Transport):
    async def banner(call: Call) -> None:
        await call.say(b"SSH-2.0-OpenSSH_9.6\r\n")
        await call.gone()

    async with serving(banner) as receiver:
        answer = await post(transport, receiver)
    assert answer.status is None
    assert answer.error
    assert answer.error.startswith(("protocol: not a valid", "wait: the receiver spoke"))


SLOW = [
    ("wait", silent),
    ("read", repeats(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.03)),
    ("read", repeats(b"HTTP/1.1 200 OK\r\nX: ", b"y", 0.03)),
    ("read", repeats(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", 0.03)),
    ("read", repeats(CHUNKED, b"1\r\nx\r\n", 0.03)),
    ("read", repeats(UNTIL_CLOSE, b"x", 0.03)),
]


@pytest.mark.parametrize(("stage", "handler"), SLOW)
async def test_one_deadline_covers_all(transport: Transport, stage: str, handler: Any):
    async with serving(handler) as receiver:
        answer, deadline = await late(transport, receiver, stage, 0.2)
        assert answer.error == f"timeout: {stage}: no whole answer within {deadline:g} s"
        assert answer.timings["total"] > 750_000 * deadline
        async with asyncio.timeout(PATIENCE):
            await receiver.closed.wait()


async def test_the_status_is_kept_when_the_body_is_late(transport: Transport):
    async with serving(repeats(CHUNKED, b"1\r\nx\r\n", 0.03)) as receiver:
        answer, _ = await late(transport, receiver, "read", 0.15)
    assert answer.status == 200
    assert answer.body.startswith(b"x")
    assert answer.head == b"Transfer-Encoding: chunked"


async def test_the_deadline_holds_while_sending(transport: Transport):
    async with serving(deaf) as receiver:
        answer, deadline = await late(transport, receiver, "send", 0.3, b"x" * 25_000_000)
    assert answer.error == f"timeout: send: no whole answer within {deadline:g} s"


async def test_the_deadline_holds_while_resolving():
    async def hangs(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with opened(Guard(resolver=hangs)) as transport:
        answer = await transport.post(
            Endpoint("http", "example.com", 80, "/"), b"", b"", deadline=0.05
        )
    assert answer.error == "timeout: resolve: not done within 0.05 s"
    assert answer.timings["total"] >= 40_000
    assert answer.timings["total"] >= answer.timings["resolve"] > 0


async def test_the_deadline_holds_while_connecting(transport: Transport):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        answer = await post(transport, f"http://127.0.0.1:{port}/", deadline=0.1)
        for filler in fillers:
            filler.close()
    assert answer.error == "timeout: connect: not done within 0.1 s"


async def test_the_deadline_holds_during_the_handshake(transport: Transport):
    async with serving(deaf) as receiver:
        url = f"https://127.0.0.1:{receiver.port}/"
        answer, deadline = await late(transport, url, "tls", 0.1)
    assert answer.error == f"timeout: tls: not done within {deadline:g} s"


ENDLESS = [
    repeats(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 50_000),
    repeats(CHUNKED, b"ff\r\n" + b"x" * 255 + b"\r\n"),
    repeats(CHUNKED, b"1\r\nx\r\n" * 500),
    repeats(UNTIL_CLOSE, b"x" * 50_000),
]


@pytest.mark.parametrize("handler", ENDLESS)
async def test_an_endless_body_is_cut(transport: Transport, handler: Any):
    async with serving(handler) as receiver:
        answer = await post(transport, receiver)
        assert (answer.status, answer.error, answer.truncated) == (200, None, True)
        assert answer.body == b"x" * MAX_BODY
        async with asyncio.timeout(PATIENCE):
            await receiver.closed.wait()
        answer = await post(transport, receiver, keep=10)
        assert (answer.body, receiver.connections) == (b"x" * 10, 2)


async def test_a_body_of_the_kept_length_is_not_truncated(transport: Transport):
    length = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    async with serving(says(length % MAX_BODY + b"x" * MAX_BODY)) as receiver:
        for _ in range(2):
            answer = await post(transport, receiver)
            assert (len(answer.body), answer.truncated) == (MAX_BODY, False)
        assert receiver.connections == 1
    async with serving(repeats(length % (MAX_BODY + 1) + b"x" * MAX_BODY, b"", 1)) as receiver:
        answer = await post(transport, receiver)
        assert (len(answer.body), answer.truncated, answer.error) == (MAX_BODY, True, None)


@pytest.mark.parametrize(
    "handler",
    [
        repeats(b"HTTP/1.1 200 OK\r\n", b"X-Header: value\r\n" * 20),
        repeats(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 5000),
        repeats(b"HTTP/1.1 200 ", b"OK" * 5000),
        says(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 17_000 + b"\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_oversized_headers(transport: Transport, handler: Any):
    async with serving(handler) as receiver:
        answer = await post(transport, receiver)
    assert answer.error == "protocol: headers too large (more than 16384 bytes)"
    assert answer.status is None


async def test_headers_just_small_enough(transport: Transport):
    head = b"HTTP/1.1 200 OK\r\nX: " + b"y" * 16_000 + b"\r\nContent-Length: 0\r\n\r\n"
    async with serving(says(head[:9000], head[9000:])) as receiver:
        answer = await post(transport, receiver)
    assert (answer.status, answer.error) == (200, None)


async def test_nothing_is_decompressed(transport: Transport):
    bomb = gzip.compress(b"\0" * 10_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with serving(says(head + bomb)) as receiver:
        answer = await post(transport, receiver)
    assert answer.body == bomb[:MAX_BODY]


RUBBISH = [
    b"rubbish\r\n\r\n",
    b"\x16\x03\x01\x00\x00",
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"HTTP/9.9.9 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\nX: y\n\n",
    b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
    CHUNKED + b"zz\r\n",
    CHUNKED + b"fffffffffffffffff\r\n",
    b"HTTP/1.1 103 Early\r\n\r\n" * 9,
    b"HTTP/1.1 100 Continue\r\n\r\n" * 5000,
]


@pytest.mark.parametrize("parts", RUBBISH)
async def test_rubbish_is_a_protocol_error(transport: Transport, parts: bytes):
    async with serving(says(parts)) as receiver:
        answer = await post(transport, receiver)
        assert answer.error
        assert answer.error.startswith("protocol: ")
        async with asyncio.timeout(PATIENCE):
            await receiver.closed.wait()


CLOSED = "connection closed before "


@pytest.mark.parametrize(
    ("sent", "error", "status"),
    [
        (b"", f"wait: {CLOSED}an answer", None),
        (b"HTTP/1.1 200 OK\r\nX:", f"read: {CLOSED}an answer", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", f"read: {CLOSED}the end of the body",
         200),
        (CHUNKED + b"2\r\nok\r\n", f"read: {CLOSED}the end of the body", 200),
    ],
)  # fmt: skip
async def test_an_early_close_is_an_error(
    transport: Transport, sent: bytes, error: str, status: int | None
):
    async with serving(says(sent, close=True)) as receiver:
        answer = await post(transport, receiver)
    assert (answer.error, answer.status) == (error, status)


async def test_a_reset_is_an_error(transport: Transport):
    async def resets(call: Call) -> None:
        await call.request()
        call.reset()

    async with serving(resets) as receiver:
        answer = await post(transport, receiver)
    assert answer.error == "wait: Connection reset by peer"


@pytest.mark.parametrize(
    "parts",
    [
        [CHUNKED, b"2\r\no", b"k\r\n", b"0\r\n\r\n"],
        [bytes([byte]) for byte in OK],
        [b"HTTP/1.1 100 Continue\r\n\r\n" + OK],
        [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n", OK],
        [b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n" * 8, OK],
        [b"HTTP/1.1 103 Early\r\nConnection: close\r\n\r\n", OK],
        [b"HTTP/1.0 100 Continue\r\n\r\n", OK],
        [b"\r\n\r\nHTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n\r\n\r\n" + OK],
    ],
)
async def test_other_good_answers(transport: Transport, parts: list[bytes]):
    async with serving(says(*parts)) as receiver:
        for _ in range(2):
            answer = await post(transport, receiver)
            assert (answer.status, answer.body, answer.error) == (200, b"ok", None)
            assert b"Link" not in answer.head
        assert receiver.connections == 1


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (UNTIL_CLOSE + b"until close", b"until close"),
        (b"HTTP/1.0 200 OK\r\nX: y\r\n\r\nold", b"old"),
        (UNTIL_CLOSE, b""),
    ],
)
async def test_an_answer_can_end_with_the_connection(
    transport: Transport, sent: bytes, body: bytes
):
    async with serving(says(sent, close=True)) as receiver:
        answer = await post(transport, receiver)
    assert (answer.status, answer.body, answer.error) == (200, body, None)


async def test_a_status_below_100_is_no_interim_answer(transport: Transport):
    async with serving(says(b"HTTP/1.1 099 -\r\nContent-Length: 2\r\n\r\nno", OK)) as receiver:
        answer = await post(transport, receiver)
    assert (answer.status, answer.body, answer.error) == (99, b"no", None)


async def test_switching_protocols_is_an_answer(transport: Transport):
    upgrade = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n\x00\x01"
    async with serving(says(upgrade)) as receiver:
        for _ in range(2):
            answer = await post(transport, receiver)
            assert (answer.status, answer.error) == (101, None)
        assert receiver.connections == 2


@pytest.mark.parametrize("status", [204, 304])
async def test_answers_without_a_body(transport: Transport, status: int):
    async with serving(says(b"HTTP/1.1 %d -\r\n\r\n" % status)) as receiver:
        for _ in range(2):
            answer = await post(transport, receiver)
            assert (answer.status, answer.head, answer.body) == (status, b"", b"")
        assert receiver.connections == 1


@pytest.mark.parametrize(
    ("announced", "connections"),
    [
        (b"Content-Length: 0", 1),
        (b"content-length:00", 1),
        (b"Content-Length: 2", 2),
        (b"X: y\r\nTransfer-Encoding: chunked", 2),
    ],
)
async def test_a_body_that_must_not_come_is_no_answer(
    transport: Transport, announced: bytes, connections: int
):
    """The receiver sends its body only when it has read the next request."""

    async def handler(call: Call) -> None:
        await call.request()
        await call.say(b"HTTP/1.1 204 -\r\n%b\r\n\r\n" % announced)
        await call.request()
        await call.say(b"ok" if connections > 1 else b"HTTP/1.1 204 -\r\n\r\n")

    async with serving(handler) as receiver:
        for _ in range(2):
            answer = await post(transport, receiver)
            assert (answer.status, answer.error) == (204, None)
        assert receiver.connections == connections


async def test_redirects_are_not_followed(transport: Transport):
    async with serving(ok) as target:
        location = f"HTTP/1.1 302 Found\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n"
        async with serving(says(location.encode())) as receiver:
            answer = await post(transport, receiver)
        assert (answer.status, answer.error) == (302, None)
        assert target.connections == 0


async def test_an_answer_before_the_whole_request_is_read(transport: Transport):
    async def refuses(call: Call) -> None:
        await call.reader.readuntil(b"\r\n\r\n")
        await call.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")

    async def refuses_and_stays(call: Call) -> None:
        await refuses(call)
        call.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    async def refuses_and_resets(call: Call) -> None:
        await call.reader.readuntil(b"\r\n\r\n")
        await call.say(b"HTTP/1.0 413 Too Large\r\n\r\nno")
        call.reset()

    for handler in (refuses, refuses_and_stays, refuses_and_resets):
        async with serving(handler) as receiver:
            answer = await post(transport, receiver, b"x" * 25_000_000)
            assert (answer.status, answer.body, answer.error) == (413, b"no", None)
            await settled(transport, 0)


async def test_a_large_body_is_sent_whole(transport: Transport):
    body = os.urandom(1_000_000) * 25
    async with serving(ok) as receiver:
        answer = await post(transport, receiver, body)
        assert answer.status == 200
        assert receiver.bodies == [body]
        assert (await post(transport, receiver)).status == 200
        assert receiver.connections == 1


async def test_cancelling_leaves_nothing_open(transport: Transport):
    async with serving(silent) as receiver:
        task = asyncio.create_task(post(transport, receiver))
        await receiver.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await settled(transport, 0)
        async with asyncio.timeout(PATIENCE):
            await receiver.closed.wait()


async def test_canceling_at_any_moment_leaves_a_usable_transport(transport: Transport):
    async with serving(ok) as receiver:
        for moment in range(30):
            task = asyncio.create_task(post(transport, receiver))
            for _ in range(moment % 15):
                await asyncio.sleep(0.0002 if moment < 15 else 0)
            task.cancel()
            await asyncio.wait([task])
            assert (await post(transport, receiver)).status == 200
    await transport.close()
    assert len(transport.pool) == 0


async def test_closing_ends_requests_in_flight():
    async with serving(silent) as receiver, opened() as transport:
        task = asyncio.create_task(post(transport, receiver))
        await receiver.asked.wait()
        await transport.close()
        assert (await task).error == "wait: connection closed before an answer"
        assert (await post(transport, receiver)).error == "connect: the transport is closed"


async def test_closing_is_no_reason_to_dial_again():
    async def once(call: Call) -> None:
        await call.request()
        await call.say(OK)
        await silent(call)

    async with serving(once) as receiver, opened() as transport:
        await post(transport, receiver)
        receiver.asked.clear()
        task = asyncio.create_task(post(transport, receiver))
        await receiver.asked.wait()
        await transport.close()
        assert (await task).error == "wait: connection closed before an answer"
        assert (await post(transport, receiver)).error == "connect: the transport is closed"
        assert receiver.connections == 1


async def test_closing_while_dialing_ends_the_request(tmp_path: Path):
    async with serving(deaf) as receiver, opened() as transport:
        task = asyncio.create_task(post(transport, f"https://127.0.0.1:{receiver.port}/"))
        await settled(transport, 1)
        # uvloop begins the handshake in its next pass, and cannot do so on a closed connection.
        for _ in range(5):
            await asyncio.sleep(0)
        await transport.close()
        assert (await task).error


@pytest.mark.skipif(not Path("/proc/sys/net/ipv6").exists(), reason="this machine has no IPv6")
async def test_ipv6_addresses_are_dialed(transport: Transport):
    async with serving(ok, host="::1") as receiver:
        answer = await post(transport, f"http://[::1]:{receiver.port}/")
        assert (answer.status, answer.address) == (200, "::1")
        assert b"Host: [::1]:" in receiver.heads[0]


async def test_a_refused_connection_is_an_error(transport: Transport):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        answer = await post(transport, f"http://127.0.0.1:{bound.getsockname()[1]}/")
    assert answer.error == "connect: Connection refused"
    assert answer.address == "127.0.0.1"
    assert answer.status is None


async def test_an_unresolved_name_is_an_error(transport: Transport):
    answer = await post(transport, "http://no-such-name.invalid/")
    assert answer.error
    assert answer.error.startswith("resolve: ")


async def test_the_guard_refuses():
    async with opened(Guard()) as transport:
        answer = await transport.post(Endpoint("http", "127.0.0.1", 80, "/"), b"", b"", deadline=1)
    assert answer.error
    assert answer.error.startswith("guard: 127.0.0.1 is refused: loopback")
    assert answer.address is None


def guard_with(*each: list[str], networks: list[str] | None = None) -> Guard:
    left = list(each)

    async def resolve(host: str, port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return Guard(allow_networks=networks or LOOPBACK, resolver=resolve)


async def test_the_checked_address_is_dialed():
    """The name resolves to an allowed address first, and to another address from then on."""
    close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    guard = guard_with(["127.0.0.2"], ["127.0.0.3"], networks=["127.0.0.2/32"])
    async with (
        serving(says(close), host="127.0.0.2") as judged,
        serving(says(close), host="127.0.0.3", port=judged.port) as other,
        opened(guard) as transport,
    ):
        url = f"http://rebind.example:{judged.port}/"
        answer = await post(transport, url)
        assert (answer.status, answer.address) == (200, "127.0.0.2")
        answer = await post(transport, url)
        assert answer.error
        assert answer.error.startswith("guard: 127.0.0.3 (an address of rebind.example)")
        assert (judged.hosts, other.hosts) == (["127.0.0.2"], [])


async def test_the_next_address_is_tried():
    guard = guard_with(["127.0.0.9", "::1", "127.0.0.2"])
    async with serving(ok, host="127.0.0.2") as receiver, opened(guard) as transport:
        answer = await post(transport, f"http://several.example:{receiver.port}/")
    assert (answer.status, answer.address) == (200, "127.0.0.2")


async def test_proxies_of_the_environment_are_ignored(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
):
    async with serving(ok) as proxy, serving(ok) as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await post(transport, receiver)).status == 200
        assert (proxy.connections, receiver.connections) == (0, 1)


async def test_certificates_are_verified(tmp_path: Path):
    server, pem = self_signed(tmp_path)
    trusting = ssl.create_default_context(cadata=pem.decode())
    guard = guard_with(["127.0.0.1"])
    async with serving(ok, context=server) as receiver:
        url = f"https://hook.example:{receiver.port}/"
        async with opened(guard) as transport:
            answer = await post(transport, url)
            assert answer.error == "tls: certificate verify failed: self-signed certificate"
            for _ in range(2):
                answer = await post(transport, url, verify_tls=False)
                assert (answer.status, answer.body) == (200, b"ok")
            # The first request failed in the handshake, so it is not counted.
            assert receiver.connections == 1
            assert (await post(transport, url)).status is None
        async with opened(guard, verify_context=trusting) as transport:
            answer = await post(transport, url)
            assert {"connect", "tls"} < set(answer.timings)
            assert answer.status == 200
            answer = await post(transport, f"https://127.0.0.1:{receiver.port}/")
            assert answer.status == 200
            answer = await post(transport, f"https://other.example:{receiver.port}/")
            assert answer.error
            assert answer.error.startswith("tls: certificate verify failed: Hostname mismatch")


async def test_a_handshake_is_made_only_where_no_connection_is_free(tmp_path: Path):
    server, pem = self_signed(tmp_path)
    trusting = ssl.create_default_context(cadata=pem.decode())
    async with opened(verify_context=trusting) as transport, serving(ok, context=server) as one:
        url = f"https://127.0.0.1:{one.port}/"
        for many in (1, 1, 4, 3, 4):
            answers = await asyncio.gather(*(post(transport, url) for _ in range(many)))
            assert {answer.status for answer in answers} == {200}
        assert one.connections == 4
        async with serving(ok, context=server) as other:
            # A connection serves only the endpoint that it was opened for.
            await post(transport, f"https://127.0.0.1:{other.port}/")
            answer = await post(transport, url)
            assert "tls" not in answer.timings
            assert (one.connections, other.connections) == (4, 1)


async def test_tls_to_a_plain_receiver_and_the_other_way(transport: Transport, tmp_path: Path):
    async with serving(ok) as receiver:
        answer, _ = await late(transport, f"https://127.0.0.1:{receiver.port}/", "tls", 0.3)
    assert answer.error
    assert answer.error.startswith(("tls: ", "timeout: tls: "))
    async with serving(ok, context=self_signed(tmp_path)[0]) as receiver:
        answer = await post(transport, receiver)
    assert answer.error


async def test_large_bodies_and_endless_answers_work_over_tls(tmp_path: Path):
    server, pem = self_signed(tmp_path)
    trusting = ssl.create_default_context(cadata=pem.decode())
    async with opened(verify_context=trusting) as transport:
        async with serving(ok, context=server) as receiver:
            url = f"https://127.0.0.1:{receiver.port}/"
            assert (await post(transport, url, b"x" * 5_000_000)).status == 200
            assert len(receiver.bodies[0]) == 5_000_000
        async with serving(repeats(UNTIL_CLOSE, b"x" * 9000), context=server) as receiver:
            answer = await post(transport, f"https://127.0.0.1:{receiver.port}/")
            assert (answer.truncated, len(answer.body)) == (True, MAX_BODY)
            await settled(transport, 0)


# The transport as a transport of httpx.


def over(transport: Transport) -> GuardedTransport:
    return GuardedTransport(Guard(allow_networks=LOOPBACK), transport)


async def test_the_transport_serves_httpx():
    async with serving(ok) as receiver, opened() as transport:
        client = httpx.AsyncClient(transport=over(transport))
        response = await client.post(receiver.url, json={"a": 1})
        assert (response.status_code, response.text) == (200, "ok")
        assert receiver.bodies == [b'{"a":1}']
        assert receiver.heads[0].count(b"Content-Length") == 1
        await client.aclose()


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (silent, httpx.ReadTimeout),
        (says(b"rubbish\r\n\r\n"), httpx.RemoteProtocolError),
        (says(b"", close=True), httpx.ReadError),
    ],
)
async def test_httpx_exceptions(handler: Any, error: type[Exception]):
    async with serving(handler) as receiver, opened() as transport:
        # A busy machine may need longer until it waits for the answer.
        for seconds in deadlines(0.2) if error is httpx.ReadTimeout else (PATIENCE,):
            client = httpx.AsyncClient(transport=over(transport), timeout=seconds)
            with pytest.raises(httpx.TransportError) as raised:
                await client.post(receiver.url)
            if raised.type is error:
                break
        assert raised.type is error
        with pytest.raises(httpx.ConnectError, match="guard: "):
            await client.post("http://10.0.0.1/")


async def test_the_client_sends_the_endpoint_byte_for_byte():
    async with serving(ok) as receiver, opened() as transport:
        guard = Guard(allow_networks=LOOPBACK)
        client = GuardedClient(guard, transport)
        target = "/a/../b//%7e?q=|{}&x=%zz"
        endpoint = replace(guard.endpoint(receiver.url), target=target)
        reply = await client.request("GET", endpoint, deadline=PATIENCE, headers={"X-A": "b"})
        assert (reply.status, reply.body, reply.truncated, reply.error) == (200, b"ok", False, None)
        head = receiver.heads[0].decode().split("\r\n")
        assert head[0] == f"GET {target} HTTP/1.1"
        assert {line.partition(":")[0].lower() for line in head[1:] if line} == {
            "host", "user-agent", "accept", "accept-encoding", "x-a",
        }  # fmt: skip


async def test_the_client_keeps_no_cookies_follows_nothing_and_decompresses_nothing():
    packed = gzip.compress(b"x" * 100_000)
    answer = (
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\n"
        b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    )
    async with serving(says(answer)) as receiver, opened() as transport:
        guard = Guard(allow_networks=LOOPBACK)
        client = GuardedClient(guard, transport)
        for _ in range(2):
            reply = await client.request("GET", guard.endpoint(receiver.url), deadline=PATIENCE)
            assert (reply.status, reply.body) == (302, packed)
            assert reply.header("location") == "/elsewhere"
        assert not any(b"cookie" in head.lower() for head in receiver.heads)
        assert len(receiver.heads) == 2
        endpoint = guard.endpoint(receiver.url)
        reply = await client.request("GET", endpoint, deadline=PATIENCE, max_bytes=10)
        assert (reply.body, reply.truncated) == (packed[:10], True)


@pytest.mark.parametrize(
    "location", ["http://xn--ls8h.example/", "//xn--ls8h.example", "mailto:ada", "http://[::1"]
)
async def test_the_client_interprets_no_location(location: str):
    answer = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    async with serving(says(answer.encode())) as receiver, opened() as transport:
        guard = Guard(allow_networks=LOOPBACK)
        client = GuardedClient(guard, transport)
        reply = await client.request("GET", guard.endpoint(receiver.url), deadline=PATIENCE)
        assert (reply.status, reply.header("location")) == (302, location)


async def test_the_client_interprets_no_international_name():
    """Some names are in use although they are not valid, such as those with an emoji."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    guard = Guard(allow_networks=LOOPBACK, resolver=resolve)
    async with serving(ok) as receiver, opened(guard) as transport:
        endpoint = guard.endpoint(f"http://xn--ls8h.example:{receiver.port}/")
        client = GuardedClient(guard, transport)
        assert (await client.request("GET", endpoint, deadline=PATIENCE)).status == 200
        assert f"Host: xn--ls8h.example:{receiver.port}\r\n".encode() in receiver.heads[0]


async def test_a_body_that_breaks_off_is_a_reply_with_an_error():
    broken = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    async with serving(says(broken, close=True)) as receiver, opened() as transport:
        guard = Guard(allow_networks=LOOPBACK)
        client = GuardedClient(guard, transport)
        reply = await client.request("GET", guard.endpoint(receiver.url), deadline=PATIENCE)
        assert (reply.status, reply.body) == (200, b"half")
        assert str(reply.error).startswith("read: ")


async def test_the_client_dials_no_address_that_the_guard_refuses():
    async with serving(ok) as receiver, opened(Guard()) as transport:
        endpoint = Guard(allow_networks=LOOPBACK).endpoint(receiver.url)
        client = GuardedClient(Guard(), transport)
        with pytest.raises(RequestFailed, match="guard: "):
            await client.request("GET", endpoint, deadline=PATIENCE)
        assert receiver.connections == 0


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Let this process open no more files and connections during the block."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in held:
            os.close(descriptor)


@pytest.mark.parametrize("named", [False, True])
async def test_a_process_without_descriptors_blames_no_receiver(named: bool):
    """The system's resolver reports a failure of its own, such as a name that is not known."""

    missing = True

    async def resolve(host: str, port: int) -> list[str]:
        if missing:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]

    guard = Guard(allow_networks=LOOPBACK, resolver=resolve)
    async with serving(ok) as receiver, opened(guard) as transport:
        url = f"http://receiver.example:{receiver.port}/" if named else receiver.url
        with no_descriptor_left():
            with pytest.raises(NoDescriptor, match="Too many open files"):
                await post(transport, url, may_send=lambda: True)
            answer = await post(transport, url)
            assert str(answer.error).endswith(": Too many open files"), "others get a result"
        missing = False
        answer = await post(transport, url, may_send=lambda: True)
        assert (answer.status, answer.error) == (200, None)
        assert receiver.connections == 1


async def test_a_process_without_threads_blames_no_receiver(monkeypatch: pytest.MonkeyPatch):
    """The system limits the threads of a user, a service and a container."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    guard = Guard(allow_networks=LOOPBACK)
    async with serving(ok) as receiver, opened(guard) as transport:
        url = f"http://localhost:{receiver.port}/"
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            with pytest.raises(NoThread, match="resolve: the system starts no more threads"):
                await post(transport, url, may_send=lambda: True)
            answer = await post(transport, url)
            assert answer.error == "resolve: the system starts no more threads"
            await guard.judge(url)
        answer = await post(transport, url, may_send=lambda: True)
        assert (answer.status, answer.error) == (200, None)
