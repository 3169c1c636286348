"""The limits of a server: the size of heads, the time for requests, and the number of connections.

The tests use real sockets, with and without TLS.
"""

import asyncio
import contextlib
import json
import resource
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from connection_server import LIMITS, NEXT, Client, World
from waiting import PATIENCE, until

from hub.cli.http_server import protocol as protocols
from hub.cli.http_server import server as servers
from hub.cli.http_server.protocol import MOST_WAITING, Protocol
from hub.cli.http_server.server import bind, port_of, serving
from hub.cli.http_server.server_limits import MOST, ServerLimits, limits_of, spare_files
from hub.settings import HubSettings

pytestmark = pytest.mark.anyio

SOON = 0.1
DRIP = 0.05
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
REQUEST = HEAD + b"\r\n"
# The first bytes of a TLS handshake.
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00"
# The most bytes that `flood` sends. The buffers between client and server hold fewer.
ENDLESS = 64 * 1024 * 1024


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture(params=["plain", "tls"])
def secure(request) -> bool:
    return bool(request.param == "tls")


@pytest.fixture
async def world(tmp_path: Path, secure: bool, monkeypatch) -> AsyncIterator[World]:
    made = World(tmp_path, tls=secure)
    # Check deadlines at every tick of the server, which is every 0.1 s.
    monkeypatch.setattr(servers, "SWEEP", 1)
    with bind("127.0.0.1", 0) as bound:
        made.port = port_of(bound)
        async with serving(made.app, bound, last_call=0.0, limiter=made.limiter, tls=made.context):
            yield made
            made.app.may.set()
            for client in made.clients:
                client.close()
        await until(lambda: not made.limiter.open)


only_plain = pytest.mark.parametrize("secure", [False], ids=["plain"])
quickly_plain = pytest.mark.parametrize(
    "secure",
    ["plain", pytest.param("tls", marks=pytest.mark.slow("it waits longer than a handshake"))],
    indirect=True,
)


async def test_a_connection_is_kept_after_an_answer(world):
    client = await world.connect()
    for _ in range(3):
        await client.send(REQUEST)
        status, headers, body = await client.answer()
        assert (status, body) == (200, b'["host"]')
        assert "connection" not in headers
    assert world.limiter.open == 1


@only_plain
async def test_the_header_link_has_a_capital_in_every_response(world):
    """Emacs's ghub looks for `Link`, and would take the first page for the whole list."""
    client = await world.connect()
    await client.send(REQUEST * 3)
    for _ in range(3):
        assert (await client.answer())[1]["Link"] == NEXT.decode()
    head = b"POST /body HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
    await client.send(head)
    assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.send(b"x")
    assert (await client.answer())[1]["Link"] == NEXT.decode()


# The size of heads.


@pytest.fixture
def parsed(monkeypatch) -> list[int]:
    """The number of bytes that the parser got in each call."""
    fed = Protocol.feed
    sizes: list[int] = []

    def counting(self: Protocol, data: bytes) -> None:
        sizes.append(len(data))
        fed(self, data)

    monkeypatch.setattr(Protocol, "feed", counting)
    return sizes


async def flood(client: Client, begin: bytes, piece: bytes) -> int:
    """Send `begin`, then `piece` again and again. Return how many bytes the pieces had.

    It ends when the server closes the connection, or after `ENDLESS` bytes.
    """
    sent = 0
    with contextlib.suppress(ConnectionError):
        await client.send(begin)
        while sent < ENDLESS and not client.reader.at_eof():
            await client.send(piece)
            sent += len(piece)
            await asyncio.sleep(0)
    return sent


@pytest.mark.parametrize(
    ("begin", "piece", "status"),
    [
        (HEAD + b"X-A: ", b"a" * 4096, 431),
        (HEAD, b"X-A: " + b"a" * 4089 + b"\r\n", 431),
        (HEAD + b"X", b"a" * 4096, 431),
        (b"GET /", b"a" * 4096, 414),
        (b"GET /?", b"a" * 4096, 414),
        (b"", b"\r\n" * 2048, 431),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 4096, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: " + b"a" * 4089 + b"\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: ", b"a" * 4096, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"a" * 4089 + b"\r\nx\r\n", 400),
    ],
    ids=[
        "value", "headers", "name", "path", "query", "nothing", "extension", "trailers", "trailer",
        "extensions",
    ],
)  # fmt: skip
async def test_an_endless_request_is_refused(world, parsed, begin, piece, status):
    world.app.may.clear()
    client = await world.connect()
    sending = asyncio.create_task(flood(client, begin.replace(b"GET / ", b"GET /body "), piece))
    found, message = await client.refusal()
    assert found == status
    assert str(LIMITS.header_bytes) in message
    client.close()
    assert await sending < ENDLESS
    # The framing of a body may be as large as the head, and is counted separately.
    assert sum(parsed) <= 2 * LIMITS.header_bytes + 4096
    assert world.answered() == {("other", str(status)): 1}


async def test_a_head_one_byte_too_long_is_refused(world):
    """The limit holds whether the head arrives in one piece or in many."""
    rest = len(REQUEST + b"X-A: \r\n")
    for size in (LIMITS.header_bytes, LIMITS.header_bytes + 1):
        whole = HEAD + b"X-A: " + b"a" * (size - rest) + b"\r\n\r\n"
        assert len(whole) == size
        for step in (size, 999, 65_000):
            client = await world.connect()
            for at in range(0, size, step):
                await client.send(whole[at : at + step])
                await asyncio.sleep(0)
            if size == LIMITS.header_bytes:
                assert (await client.answer())[0] == 200
            else:
                assert (await client.refusal())[0] == 431


async def test_too_many_headers(world):
    client = await world.connect()
    await client.send(HEAD + b"X-A: b\r\n" * (LIMITS.headers - 1) + b"\r\n")
    assert (await client.answer())[0] == 200
    await client.send(HEAD + b"X-A: b\r\n" * LIMITS.headers + b"\r\n")
    assert await client.refusal() == (431, "There are more headers than the limit of 100.")
    assert world.app.paths == ["/"]


async def test_bodies_are_no_heads(world):
    """A body may exceed the limit for heads, also in small chunks and in chunks with extensions."""
    client = await world.connect()
    size = 8 * LIMITS.header_bytes
    head = b"POST /body HTTP/1.1\r\nHost: x\r\n"
    await client.send(head + b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
    assert (await client.answer())[0] == 200
    await client.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
    await client.send(b"1\r\nx\r\n" * 50_000)
    signed = b"1000;chunk-signature=" + b"f" * 64 + b"\r\n" + b"x" * 0x1000 + b"\r\n"
    await client.send(signed * 2_000 + b"0\r\nX-Sum: 1\r\n\r\n")
    assert (await client.answer())[0] == 200


async def test_a_body_makes_no_room_for_the_next_head(world, parsed):
    world.app.may.clear()
    client = await world.connect()
    size = 4 * LIMITS.header_bytes
    head = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
    whole = head + b"x" * size
    await client.send(whole[:-10])
    await until(lambda: sum(parsed) == len(whole) - 10)
    # The server reads on: it pauses only while the application has much to take.
    await client.send(whole[-10:])
    await until(lambda: sum(parsed) == len(whole))
    client.writer.write(HEAD + b"X-A: " + b"a" * size)
    await until(lambda: world.answered() == {("other", "431"): 1})
    assert sum(parsed) == len(whole) + LIMITS.header_bytes
    world.app.may.set()
    assert (await client.answer())[0] == 200
    assert (await client.refusal())[0] == 431


async def test_heads_that_arrive_with_a_body_are_read(world):
    """Requests that arrive in one piece are served, also behind a body, whatever their sum."""
    client = await world.connect()
    large = HEAD + b"X-A: " + b"a" * (LIMITS.header_bytes // 2) + b"\r\n\r\n"
    body = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000
    await client.send((body + large * 4) * 3)
    for _ in range(15):
        assert (await client.answer())[0] == 200


async def test_trailers_are_no_headers(world):
    client = await world.connect()
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    await client.send(chunked + b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
    assert json.loads((await client.answer())[2]) == ["host", "transfer-encoding"]


async def test_requests_that_wait_for_others_are_bounded(world):
    """The limit also holds if the requests are small and arrive at once."""
    world.app.may.clear()
    client = await world.connect()
    await client.send(REQUEST * 2_000)
    await world.app.began.wait()
    world.app.may.set()
    answers = [await client.answer() for _ in range(1 + MOST_WAITING)]
    closing = [headers.get("connection") for _, headers, _ in answers]
    assert closing == [None] * MOST_WAITING + ["close"]
    assert await client.ended() == b""


async def test_a_refusal_waits_for_the_answers_before_it(world):
    world.app.may.clear()
    client = await world.connect()
    await client.send(REQUEST + REQUEST + b"GET / HTTP/1.1\r\n\r\n")
    await world.app.began.wait()
    world.app.may.set()
    for _ in range(2):
        assert (await client.answer())[0] == 200
    assert await client.refusal() == (400, "There is no Host header.")


async def test_an_unreadable_body_ends_the_app_that_reads_it(world):
    client = await world.connect()
    await client.send(b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    await world.app.began.wait()
    await client.send(b"no number\r\n")
    assert (await client.refusal())[0] == 400
    async with asyncio.timeout(PATIENCE):
        await world.app.left.wait()


async def test_a_disconnect_reaches_its_app_while_others_wait(world):
    """The current request gets the disconnect. It is not the newest on the connection."""
    client = await world.connect()
    await client.send(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n" + REQUEST)
    await world.app.began.wait()
    client.close()
    async with asyncio.timeout(PATIENCE):
        await world.app.left.wait()


POST = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"


@pytest.fixture
def ended(monkeypatch) -> asyncio.Event:
    """An event that is set once the server has seen the end of a client's side."""
    seen, former = asyncio.Event(), Protocol.eof_received

    def noting(self: Protocol) -> bool | None:
        seen.set()
        return former(self)

    monkeypatch.setattr(Protocol, "eof_received", noting)
    return seen


@only_plain
@pytest.mark.parametrize("requests", [[REQUEST], [POST], [POST, REQUEST, POST]], ids=len)
@pytest.mark.parametrize("rest", [b"", HEAD, POST[:-1]], ids=["whole", "head", "body"])
async def test_a_client_that_sends_nothing_more_is_answered(world, ended, requests, rest):
    """It gets the answers to its complete requests, and then the end of the connection."""
    world.app.may.clear()
    client = await world.connect()
    await client.send(b"".join(requests) + rest)
    await world.app.began.wait()
    client.writer.write_eof()
    if len(requests) == 1 and rest != POST[:-1]:
        # Otherwise the server reads on only after the first answer.
        await ended.wait()
    world.app.may.set()
    answers = [await client.answer() for _ in requests]
    assert [status for status, _, _ in answers] == [200] * len(requests)
    assert await client.ended() == b""
    assert len(world.app.paths) in (len(requests), len(requests) + (rest == POST[:-1]))
    await until(lambda: not world.limiter.open)


@only_plain
@pytest.mark.parametrize("many", [1, 2])
async def test_a_refusal_reaches_a_client_that_sends_nothing_more(world, ended, many):
    world.app.may.clear()
    client = await world.connect()
    begin = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n"
    if many == 1:
        begin = b"GET / HTTP/1.1\r\n\r\n"
    await client.send(REQUEST * many + begin)
    await world.app.began.wait()
    client.writer.write_eof()
    if many == 1:
        # Otherwise the server reads on only after the first answer.
        await ended.wait()
    world.app.may.set()
    for _ in range(many):
        assert (await client.answer())[0] == 200
    assert (await client.refusal())[0] == 400
    await until(lambda: not world.limiter.open)
    assert not world.dropped()


@only_plain
@pytest.mark.parametrize("sent", [b"", HEAD, POST[:-1], REQUEST], ids=["no", "head", "body", "all"])
async def test_a_connection_without_a_request_at_work_ends_with_its_client(world, ended, sent):
    client = await world.connect()
    await client.send(sent)
    if sent == REQUEST:
        await client.answer()
    client.writer.write_eof()
    assert await client.ended() == b""
    await until(lambda: not world.limiter.open)
    assert not world.dropped()


@only_plain
async def test_an_app_that_waits_for_the_disconnect_gets_it_at_the_end_of_the_client(world):
    client = await world.connect()
    await client.send(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
    await world.app.began.wait()
    client.writer.write_eof()
    async with asyncio.timeout(PATIENCE):
        await world.app.left.wait()
    assert await client.ended() == b""
    await until(lambda: not world.limiter.open)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "There is no Host header."),
        (HEAD + b"host: y\r\n\r\n", "There is more than one Host header."),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "The Host header does not name a host."),
        (
            HEAD + b"Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
            "There is more than one Authorization header.",
        ),
        (
            HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
            "Transfer-Encoding names another coding than chunked.",
        ),
        (
            HEAD + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
            "There is more than one Transfer-Encoding header.",
        ),
    ],
)
async def test_wrong_heads_are_refused(world, request_, message):
    client = await world.connect()
    await client.send(request_)
    assert await client.refusal() == (400, message)
    assert not world.app.paths


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1]:8765\r\n\r\n",
        HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
    ],
)
async def test_right_heads_are_accepted(world, request_):
    client = await world.connect()
    await client.send(request_)
    assert (await client.answer())[0] == 200


# Requests that wait for `100 Continue` before they send their body.
WAITS = HEAD.replace(b"GET", b"POST") + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"ab", b"abc"])
async def test_a_response_in_place_of_100_continue_is_the_last(world, sent):
    """The client may send the body or not. So its next bytes could be a body or a request."""
    client = await world.connect()
    await client.send(WAITS)
    status, headers, _ = await client.answer()
    assert (status, headers["connection"]) == (200, "close")
    await client.send(sent + REQUEST)
    assert await client.ended() == b""
    assert world.app.paths == ["/"]


async def test_a_response_before_a_forwarded_body_is_the_last(world):
    """If its client aborts, HAProxy 2.6 sends another client's request in place of the body."""
    client = await world.connect()
    await client.send(
        b"POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 90\r\n\r\nx"
    )
    status, headers, _ = await client.answer()
    assert (status, headers["connection"]) == (200, "close")
    await client.send(REQUEST * 5)
    assert await client.ended() == b""
    assert world.app.paths == ["/"]


@pytest.mark.parametrize("path", [b"/", b"/body"])
async def test_a_forwarded_body_that_has_come_keeps_the_connection(world, path):
    client = await world.connect()
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nVia: 1.1 x\r\nContent-Length: 1\r\n\r\n" % path
    for _ in range(2):
        await client.send(head + b"x")
        status, headers, _ = await client.answer()
        assert status == 200
        assert "connection" not in headers


async def test_a_body_that_was_asked_for_keeps_the_connection(world):
    client = await world.connect()
    await client.send(WAITS.replace(b"POST /", b"POST /body"))
    async with asyncio.timeout(PATIENCE):
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.send(b"abc")
    for _ in range(2):
        status, headers, _ = await client.answer()
        assert status == 200
        assert "connection" not in headers
        await client.send(REQUEST)
    assert world.app.bodies == [b"abc"]


async def test_a_body_that_did_not_wait_keeps_the_connection(world):
    client = await world.connect()
    await client.send(WAITS + b"abc" + REQUEST)
    for _ in range(2):
        status, headers, _ = await client.answer()
        assert status == 200
        assert "connection" not in headers


# Requests that offer another protocol. Java's client and `curl --http2` do with each body.
OFFER = b"POST /body HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
WHOLE = b"Content-Length: %d\r\n\r\n" % len(REQUEST) + REQUEST
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\nX-A: b\r\n\r\n" % (
    len(REQUEST),
    REQUEST,
)


@pytest.mark.parametrize("body", [WHOLE, CHUNKED])
@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("before", [b"", REQUEST])
async def test_a_body_after_an_offer_of_another_protocol_is_read(world, body, step, before):
    client = await world.connect()
    whole = before + OFFER + body
    for at in range(0, len(whole) - 1, step):
        await client.send(whole[at : min(at + step, len(whole) - 1)])
        await asyncio.sleep(0)
    # Nothing behind the body is served.
    await client.send(whole[-1:] + REQUEST)
    if before:
        assert (await client.answer())[0] == 200
    status, headers, _ = await client.answer()
    assert (status, headers["connection"]) == (200, "close")
    assert await client.ended() == b""
    assert world.app.paths == ["/", "/body"][not before :]
    assert world.app.bodies == [REQUEST]


@pytest.mark.parametrize("body", [WHOLE, CHUNKED])
@pytest.mark.parametrize("behind", [b"", REQUEST])
async def test_a_body_in_one_piece_with_an_offer_of_another_protocol_is_no_error(
    world, body, behind, caplog
):
    client = await world.connect()
    await client.send(OFFER + body + behind)
    assert (await client.answer())[0] == 200
    assert await client.ended() == b""
    assert world.app.bodies == [REQUEST]
    assert "refused" not in caplog.text


async def test_the_body_after_an_offer_of_another_protocol_is_bounded(world):
    client = await world.connect()
    await client.send(OFFER + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")
    assert (await client.refusal())[0] == 400
    await until(world.app.left.is_set)


async def test_a_body_after_an_offer_of_another_protocol_may_come_after_its_answer(world):
    client = await world.connect()
    await client.send(OFFER.replace(b"/body", b"/") + WHOLE[:-3])
    status, headers, _ = await client.answer()
    assert (status, headers["connection"]) == (200, "close")
    await client.send(WHOLE[-3:] + REQUEST)
    assert await client.ended() == b""
    assert world.app.paths == ["/"]


@pytest.mark.parametrize(
    "text", [b"\x16\x03\x01\x02\x00\x01", b"NONSENSE\r\n\r\n", b"GET x y z\r\n"]
)
async def test_bytes_that_are_no_http_are_refused(world, text):
    client = await world.connect()
    await client.send(text)
    assert (await client.refusal())[0] == 400


# The time for requests and responses.


@quickly_plain
async def test_half_a_head_is_refused_after_the_timeout(world):
    world.limit(header_timeout=world.soon)
    client = await world.connect()
    await client.send(HEAD)
    reported = f"The headers were not complete within {world.soon:g} seconds."
    assert await client.refusal() == (408, reported)


async def test_half_a_second_head_is_refused_after_the_timeout(world):
    client = await world.connect()
    world.limit(header_timeout=SOON, keep_alive_timeout=PATIENCE)
    await client.send(REQUEST + HEAD)
    assert (await client.answer())[0] == 200
    assert (await client.refusal())[0] == 408


async def test_an_empty_line_begins_the_header_timeout(world):
    client = await world.connect()
    world.limit(header_timeout=SOON, keep_alive_timeout=PATIENCE)
    await client.send(REQUEST)
    assert (await client.answer())[0] == 200
    await client.send(b"\r\n")
    assert (await client.refusal())[0] == 408


@quickly_plain
async def test_a_dripping_head_is_refused_after_the_timeout(world):
    """The timeout is for the whole head, not for each byte."""
    world.limit(header_timeout=max(world.soon, 10 * DRIP))
    client = await world.connect()

    async def drip() -> None:
        with contextlib.suppress(ConnectionError):
            await client.send(HEAD + b"X: ")
            while True:
                await client.send(b"a")
                await asyncio.sleep(DRIP)

    dripping = asyncio.create_task(drip())
    assert (await client.refusal())[0] == 408
    dripping.cancel()


@quickly_plain
async def test_a_silent_connection_is_closed(world):
    world.limit(header_timeout=world.soon)
    client = await world.connect()
    assert await client.ended() == b""
    assert world.dropped() == {"timeout": 1}


@pytest.mark.parametrize(
    ("secure", "sent"), [("plain", b""), ("tls", b""), ("tls", CLIENT_HELLO)], indirect=["secure"]
)
async def test_a_handshake_that_does_not_end(world, sent):
    world.limit(header_timeout=SOON)
    client = await world.connect(secure=False)
    await client.send(sent)
    assert await client.ended() == b""
    await until(lambda: not world.limiter.open)
    assert world.dropped() == {"timeout": 1}


@only_plain
async def test_a_handshake_with_a_plain_server_is_refused(world):
    client = await world.connect()
    await client.send(CLIENT_HELLO)
    assert (await client.refusal())[0] == 400


async def test_an_idle_connection_is_closed(world):
    world.limit(keep_alive_timeout=SOON)
    client = await world.connect()
    await client.send(REQUEST)
    assert (await client.answer())[0] == 200
    assert await client.ended() == b""
    assert not world.dropped()


async def test_an_unread_body_is_closed_after_the_timeout(world):
    """After the response, the server reads the rest of the request's body until the timeout."""
    world.limit(body_timeout=SOON, keep_alive_timeout=PATIENCE)
    client = await world.connect()
    await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\nx")
    assert (await client.answer())[0] == 200
    assert await client.ended() == b""
    assert world.dropped() == {"timeout": 1}


async def test_a_body_may_come_after_its_answer(world):
    client = await world.connect()
    await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx")
    assert (await client.answer())[0] == 200
    await client.send(b"x" * 8 + REQUEST)
    assert (await client.answer())[0] == 200


LAST = pytest.mark.parametrize(
    "last", [b"HTTP/1.0\r\n", b"HTTP/1.1\r\nConnection: close\r\nHost: x\r\n"], ids=["1.0", "1.1"]
)


@LAST
async def test_a_body_may_come_after_the_last_answer(world, last):
    """If the server closed at once, a client that is still sending would see no answer."""
    client = await world.connect()
    size = 8_000_000
    await client.send(b"POST / " + last + b"Content-Length: %d\r\n\r\nx" % size)
    status, headers, _ = await client.answer()
    assert (status, headers["connection"]) == (200, "close")
    for _ in range(size // 1000 - 1):
        await client.send(b"x" * 1000)
    assert world.limiter.open == 1
    # Nothing that follows is a request.
    await client.send(b"x" * 999 + REQUEST)
    assert await client.ended() == b""
    await until(lambda: not world.limiter.open)
    assert world.app.paths == ["/"]
    assert not world.dropped()


@LAST
async def test_an_unread_last_body_is_closed_after_the_timeout(world, last):
    world.limit(body_timeout=SOON, keep_alive_timeout=PATIENCE)
    client = await world.connect()
    await client.send(b"POST / " + last + b"Content-Length: 999\r\n\r\nx")
    assert (await client.answer())[0] == 200
    assert await client.ended() == b""
    await until(lambda: world.dropped() == {"timeout": 1})
    await until(lambda: not world.limiter.open)


async def test_requests_behind_the_last_one_are_not_served(world):
    """Also if the body of one has not arrived when the last one is answered."""
    world.app.may.clear()
    client = await world.connect()
    last = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    await client.send(last + last.replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\nx"))
    await world.app.began.wait()
    world.app.may.set()
    assert (await client.answer())[0] == 200
    assert await client.ended() == b""
    await until(lambda: not world.limiter.open)
    assert world.app.paths == ["/"]


@pytest.mark.parametrize("how", [b"", b"Connection: close\r\n"])
async def test_an_untaken_answer_is_closed_after_the_timeout(world, how, monkeypatch):
    monkeypatch.setattr(protocols, "LINGER", SOON)
    world.limit(write_timeout=SOON, keep_alive_timeout=SOON)
    client = await world.connect()
    client.writer.transport.pause_reading()
    await client.send(b"GET /?33333333 HTTP/1.1\r\nHost: x\r\n" + how + b"\r\n")
    await until(lambda: world.dropped() == {"timeout": 1})
    await until(lambda: not world.limiter.open)


async def test_more_requests_do_not_keep_a_connection_whose_answers_are_not_taken(world):
    """Otherwise clients that read nothing could take all connections for ever."""
    world.limit(write_timeout=SOON, keep_alive_timeout=PATIENCE)
    client = await world.connect()
    client.writer.transport.pause_reading()
    # The connection is idle again after each answer that the system's buffers take. They grow, and
    # may also take one that waited for the client.
    while not world.dropped():
        asked = len(world.app.paths)
        await client.send(b"GET /?8000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda asked=asked: len(world.app.paths) > asked)
        await until(lambda: world.limiter.waiting() or world.dropped())
    assert len(world.app.paths) > 1
    assert world.dropped() == {"timeout": 1}
    await until(lambda: not world.limiter.open)


async def test_a_slowly_taken_answer_is_sent_whole(world, monkeypatch):
    """While the client reads a response, neither `LINGER` nor the keep-alive timeout ends it."""
    monkeypatch.setattr(protocols, "LINGER", SOON)
    world.limit(write_timeout=PATIENCE, keep_alive_timeout=SOON)
    size = 6_000_000
    assert await asyncio.to_thread(taken_slowly, world, size) == size
    await until(lambda: not world.limiter.open)


def taken_slowly(world: World, size: int) -> int:
    """Read a response of `size` bytes slowly. Return the number of bytes that arrive."""
    with contextlib.ExitStack() as stack:
        there = stack.enter_context(socket.socket())
        there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        there.settimeout(PATIENCE)
        there.connect(("127.0.0.1", world.port))
        if world.trusting is not None:
            wrapped = world.trusting.wrap_socket(there, server_hostname="localhost")
            there = stack.enter_context(wrapped)
        there.sendall(b"GET /?%d HTTP/1.1\r\nHost: x\r\n\r\n" % size)
        read = stack.enter_context(there.makefile("rb"))
        while read.readline().strip():
            pass
        taken = 0
        while received := len(read.read(size // 10)):
            taken += received
            time.sleep(SOON / 2)
        return taken


async def test_a_request_at_work_is_waited_for(world):
    world.app.may.clear()
    client = await world.connect()
    world.limit(header_timeout=SOON, keep_alive_timeout=SOON, body_timeout=SOON)
    await client.send(REQUEST)
    await world.app.began.wait()
    await asyncio.sleep(5 * SOON)
    world.app.may.set()
    assert (await client.answer())[0] == 200


# The number of connections.


async def test_a_silent_connection_is_evicted_for_a_new_one(world, caplog):
    world.limit(connections=5)
    silent = [await world.connect() for _ in range(5)]
    await until(lambda: world.limiter.open == 5)
    for number in range(3):
        client = await world.connect()
        await client.send(REQUEST)
        assert (await client.answer())[0] == 200
        assert await silent[number].ended() == b""
        assert world.limiter.open == 5
    assert world.dropped() == {"evicted": 3}
    assert caplog.text.count("there are 5 connections, and max_connections allows no more") == 1


async def test_a_connection_at_work_is_not_evicted(world, secure):
    world.limit(connections=2)
    world.app.may.clear()
    working = [await world.connect() for _ in range(2)]
    for client in working:
        await client.send(REQUEST)
    await until(lambda: len(world.app.paths) == 2)
    if secure:
        with pytest.raises((OSError, EOFError)):
            await world.connect()
    else:
        refused = await world.connect()
        status, headers, body = await refused.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["code"] == "unavailable"
        assert await refused.ended() == b""
    assert world.dropped() == {"full": 1}
    world.app.may.set()
    for client in working:
        assert (await client.answer())[0] == 200
    assert (await world.connect()) is not None


async def test_one_address_takes_nothing_from_others(world, secure, caplog):
    world.limit(connections=9, connections_per_address=3, loopback_counts=True)
    world.app.may.clear()
    many = [await world.connect(address="127.0.0.2") for _ in range(3)]
    for number, client in enumerate(many):
        await client.send(REQUEST)
        # Wait, so that the connections become idle in this order.
        await until(lambda asked=number + 1: len(world.app.paths) == asked)
    with pytest.raises((OSError, EOFError)) if secure else contextlib.nullcontext():
        refused = await world.connect(address="127.0.0.2")
        assert (await refused.answer())[0] == 503
    world.app.may.set()
    other = await world.connect(address="127.0.0.3")
    await other.send(REQUEST)
    assert (await other.answer())[0] == 200
    for client in many:
        assert (await client.answer())[0] == 200
    # The connections are idle now, and the server evicts the longest idle one.
    again = await world.connect(address="127.0.0.2")
    await again.send(REQUEST)
    assert (await again.answer())[0] == 200
    assert await many[0].ended() == b""
    assert world.dropped() == {"address": 1, "evicted": 1}
    assert "127.0.0.2 has 3 connections, and max_connections_per_address" in caplog.text


async def test_the_address_with_most_connections_loses_one(world):
    world.limit(connections=4, loopback_counts=True)
    few = await world.connect(address="127.0.0.3")
    many = [await world.connect(address="127.0.0.2") for _ in range(3)]
    await until(lambda: world.limiter.open == 4)
    other = await world.connect(address="127.0.0.4")
    assert await many[0].ended() == b""
    for client in (few, other):
        await client.send(REQUEST)
        assert (await client.answer())[0] == 200


async def test_a_broken_handshake_frees_its_connection(world):
    """Either the client breaks off the handshake, or the server does when it ends."""
    for _ in range(3):
        client = await world.connect(secure=False)
        await until(lambda: world.limiter.open == 1)
        client.close()
        await until(lambda: not world.limiter.open)
    await world.connect(secure=False)
    await until(lambda: world.limiter.open == 1)
    (connection,) = world.limiter.waiting()
    connection.shutdown()
    await until(lambda: not world.limiter.open)
    assert not world.limiter.waiting()


async def test_handshakes_count(world, secure):
    world.limit(connections=3)
    silent = [await world.connect(secure=False) for _ in range(3)]
    await until(lambda: world.limiter.open == 3)
    client = await world.connect()
    await client.send(REQUEST)
    assert (await client.answer())[0] == 200
    assert await silent[0].ended() == b""
    assert world.limiter.open == 3
    assert world.dropped() == {"evicted": 1}


@only_plain
async def test_requests_are_answered_among_silent_connections(world):
    """If silent connections exceed the limit, another client still gets a response."""
    world.limit(connections=50)
    silent = [await world.connect() for _ in range(400)]
    for client in silent[::7]:
        with contextlib.suppress(ConnectionError):
            await client.send(HEAD)
    asking = await world.connect()
    await asking.send(REQUEST)
    assert (await asking.answer())[0] == 200
    assert world.limiter.open <= 50
    assert world.dropped()["evicted"] == 351


# The limits from the settings.


def test_the_bounds_that_the_settings_set(monkeypatch):
    files = (1024, 1024)
    monkeypatch.setattr(resource, "getrlimit", lambda what: files)
    assert spare_files(1000) == 256
    assert spare_files(100) == 1024 - 100 - 512
    files = (65_536, 65_536)
    assert spare_files(1000) == MOST
    limits = limits_of(HubSettings(), 1000)
    assert (limits.connections, limits.connections_per_address) == (MOST, MOST // 4)
    assert limits.documentation_url == "http://127.0.0.1:8765/docs"
    given = HubSettings(max_connections=2, max_header_bytes=5000, max_headers=20)
    limits = limits_of(given, 1000)
    assert (limits.connections, limits.connections_per_address) == (2, 1)
    assert (limits.header_bytes, limits.headers) == (5000, 20)


def test_proxies_close_idle_connections_before_the_hub():
    """Otherwise a proxy answers 502 to a request that it sends while the hub closes."""
    kept_by_proxies = {"nginx": 60, "haproxy": 5, "varnish": 60, "Traefik": 90, "Caddy": 120}
    longest = max(kept_by_proxies.values())
    assert limits_of(HubSettings(), 1000).keep_alive_timeout > longest
    assert ServerLimits().keep_alive_timeout > longest


def test_addresses_of_one_network_are_one_group():
    limits = limits_of(HubSettings(trusted_proxies=["192.0.2.0/28"]), 1000)
    assert limits.group_of("192.0.2.1") is None
    assert limits.group_of("192.0.2.99") == "192.0.2.99"
    assert limits.group_of("2001:db8::1") == limits.group_of("2001:db8::2") == "2001:db8::/64"
    for own in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"):
        assert limits.group_of(own) is None
    counting = limits_of(HubSettings(max_connections_per_address=7), 1000)
    assert counting.connections_per_address == 7
    assert counting.group_of("127.0.0.1") == "127.0.0.1"
