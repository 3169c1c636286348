"""Records of attempts: the request, the response and the failed stage, without secrets."""

import asyncio
import inspect
import socket
from typing import Any

import pytest
from receivers import LOOPBACK, Handler, deaf, ok, repeats, says, serving, silent
from waiting import until
from worker_harness import Network, WorkerHarness, said

from store import Row
from worker.delivery import send
from worker.http.answer import MAX_BODY
from worker.http.guard import Guard
from worker.http.transport import Transport
from worker.settings import USER_AGENT

MASK = "********"
SECRET = "s3cret-value"


async def one_attempt(harness: WorkerHarness, handler: Handler, **hook: Any) -> Row:
    """Deliver one event to a receiver with this handler. Return the record of the attempt."""
    async with serving(handler) as receiver:
        hook_id = harness.hook(receiver.url, **hook)
        await harness.work(real=True)
        await harness.event(b'{"a":1}')
        (row,) = await harness.recorded(hook_id, 1)
        await harness.rest()
    return row


async def late_attempt(
    harness: WorkerHarness, handler: Handler, stage: str, seconds: float, body: bytes = b"{}"
) -> Row:
    """Return the record of an attempt that timed out at a stage.

    If the first timeout (seconds) ends at an earlier stage, because the machine is busy, longer
    timeouts are tried.
    """
    async with serving(handler) as receiver:
        hook_id = harness.hook(receiver.url)
        await harness.work(real=True)
        for many, timeout in enumerate((seconds, 5 * seconds, 25 * seconds), 1):
            harness.edit(hook_id, options={"timeout": timeout})
            await harness.event(body)
            row = (await harness.recorded(hook_id, many))[-1]
            if row["error"].startswith(f"timeout: {stage}: "):
                break
        await harness.rest()
    assert row["error"] == f"timeout: {stage}: no whole answer within {timeout:g} s"
    assert row["duration"] >= 900_000 * timeout
    assert harness.states() == {"waiting": many}
    return row


def answers(head: str, body: bytes = b"") -> Handler:
    length = "" if "ength:" in head else f"Content-Length: {len(body)}\r\n"
    return says(f"HTTP/1.1 {head}\r\n{length}\r\n".encode() + body)


async def test_a_worker_that_stops_has_counted_its_attempts(harness: WorkerHarness) -> None:
    row = await one_attempt(harness, ok)
    counted = harness.store.read_sync(lambda db: db.tuples("SELECT hook_id, code FROM hook_tally"))
    assert counted == [(row["hook_id"], row["status_code"])]


async def test_a_success_is_recorded_with_headers_and_body(harness: WorkerHarness) -> None:
    handler = answers("202 Accepted\r\nX-One: 1\r\nX-Two: a\r\nX-Two: b", "grün".encode())
    row = await one_attempt(harness, handler, secret=SECRET)
    assert (row["status_code"], row["error"]) == (202, None)
    assert row["response_headers"] == {"X-One": "1", "X-Two": "a, b", "Content-Length": "5"}
    assert row["response_body"] == "grün"
    assert row["request_headers"]["X-GitHub-Event"] == "push"
    assert row["request_headers"]["X-Service-Event"] == "push"
    assert row["request_headers"]["Content-Type"] == "application/json"
    assert row["event_body"] == b'{"a":1}'
    assert row["address"] == "127.0.0.1"
    assert row["url"].startswith("http://127.0.0.1:")
    assert (row["number"], row["redelivery"]) == (1, 0)
    assert row["started_at"] == harness.clock.now()
    assert {"connect", "wait", "read", "total"} <= set(row["timings"])
    assert row["duration"] == row["timings"]["total"]
    assert 0 < row["duration"] < 10_000_000
    assert row["guid"] == harness.deliveries()[0]["guid"]


async def test_the_headers_kept_are_those_sent(harness: WorkerHarness) -> None:
    async with serving(ok) as receiver:
        hook_id = harness.hook(receiver.url, secret=SECRET)
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1)
        await harness.rest()
    (row,) = harness.attempts(hook_id)
    lines = receiver.heads[0].decode().split("\r\n")[1:-2]
    assert [": ".join(pair) for pair in row["request_headers"].items()] == lines


async def test_secrets_are_masked_wherever_they_come_back(harness: WorkerHarness) -> None:
    handler = answers(
        f"200 OK\r\nX-Echo: <{SECRET}>\r\nSet-Cookie: session=abc\r\nSET-COOKIE2: def\r\n"
        "set-cookie: more=ghi; HttpOnly\r\nAuthorization: Basic xyz\r\n"
        "Proxy-Authorization: jkl\r\nCookie: mno\r\nX-Cookie-Policy: strict",
        f'{{"config": {{"secret": "{SECRET}"}}, "again": "{SECRET}{SECRET}"}}'.encode(),
    )
    row = await one_attempt(harness, handler, secret=SECRET)
    headers = row["response_headers"]
    assert headers["X-Echo"] == f"<{MASK}>"
    assert headers["X-Cookie-Policy"] == "strict"
    for name in ("Set-Cookie", "SET-COOKIE2", "set-cookie", "Authorization", "Cookie"):
        assert headers[name] == MASK
    assert headers["Proxy-Authorization"] == MASK
    assert row["response_body"] == (
        f'{{"config": {{"secret": "{MASK}"}}, "again": "{MASK}{MASK}"}}'
    )
    stored = str({name: value for name, value in row.items() if name != "event_body"})
    for private in (SECRET, "abc", "def", "ghi", "xyz", "jkl", "mno"):
        assert private not in stored


async def test_64_kb_of_the_answer_are_kept(harness: WorkerHarness) -> None:
    row = await one_attempt(harness, answers("200 OK", b"x" * (MAX_BODY + 1000)))
    assert MAX_BODY == 64 * 1024
    assert row["response_body"] == "x" * MAX_BODY
    assert (row["status_code"], row["error"]) == (200, None)
    assert harness.counts()["delivered"] == 1


async def test_no_beginning_of_a_secret_is_kept_where_an_answer_is_cut(
    harness: WorkerHarness,
) -> None:
    before = b"x" * (MAX_BODY - len(SECRET) + 1)
    row = await one_attempt(
        harness, answers("200 OK", before + SECRET.encode() + b"!"), secret=SECRET
    )
    assert row["response_body"] == before.decode() + MASK


async def test_a_body_of_64_kb_is_recorded_whole(harness: WorkerHarness) -> None:
    row = await one_attempt(harness, answers("200 OK", b"y" * MAX_BODY))
    assert row["response_body"] == "y" * MAX_BODY


async def test_an_answer_that_never_ends_is_left(harness: WorkerHarness) -> None:
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    row = await one_attempt(harness, repeats(start, b"2000\r\n" + b"z" * 8192 + b"\r\n"))
    assert row["response_body"] == "z" * MAX_BODY
    assert row["error"] is None


async def test_a_binary_answer_is_kept_as_text(harness: WorkerHarness) -> None:
    row = await one_attempt(harness, answers("500 No", b"a\x00b\xff\xfec\xc3"))
    assert row["response_body"] == "a\ufffdb\ufffd\ufffdc\ufffd"


async def test_nothing_is_decompressed(harness: WorkerHarness) -> None:
    packed = b"\x1f\x8b" + b"\x02" * 20
    row = await one_attempt(harness, answers("200 OK\r\nContent-Encoding: gzip", packed))
    assert row["response_headers"]["Content-Encoding"] == "gzip"
    assert row["response_body"].endswith("\x02" * 20)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failure_and_not_followed(
    harness: WorkerHarness, status: int
) -> None:
    async with serving(ok) as elsewhere:
        handler = answers(f"{status} Moved\r\nLocation: {elsewhere.url}")
        row = await one_attempt(harness, handler)
        assert elsewhere.connections == 0
    assert row["status_code"] == status
    assert row["response_headers"]["Location"] == elsewhere.url
    assert harness.states() == {"waiting": 1}


async def test_a_refused_connection_is_recorded(harness: WorkerHarness) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        hook_id = harness.hook(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        await harness.work(real=True)
        await harness.event()
        (row,) = await harness.recorded(hook_id, 1)
    assert row["error"] == "connect: Connection refused"
    assert row["address"] == "127.0.0.1"
    assert (row["status_code"], row["response_headers"], row["response_body"]) == (None, None, None)
    assert harness.states() == {"waiting": 1}


async def test_a_silent_receiver_is_recorded_as_a_timeout(harness: WorkerHarness) -> None:
    row = await late_attempt(harness, silent, "wait", 0.1)
    assert row["status_code"] is None


async def test_a_receiver_that_never_reads_is_recorded_as_a_timeout(harness: WorkerHarness) -> None:
    await late_attempt(harness, deaf, "send", 0.2, b"[" + b'"x",' * 4_000_000 + b"0]")


async def test_a_dripping_receiver_is_recorded_as_a_timeout(harness: WorkerHarness) -> None:
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    row = await late_attempt(harness, repeats(start, b".", 0.01), "read", 0.15)
    assert row["status_code"] == 200, "the attempt fails although the status is known"
    assert set(row["response_body"]) == {"."}


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (says(b"SSH-2.0-OpenSSH\r\n\r\n"), "protocol: "),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", close=True), "read: "),
        (says(b"", close=True), "wait: "),
        (says(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20_000 + b"\r\n\r\n"), "protocol: headers too"),
    ],
)
async def test_the_stage_of_an_error_is_recorded(
    harness: WorkerHarness, handler: Handler, error: str
) -> None:
    row = await one_attempt(harness, handler)
    assert row["error"].startswith(error)
    assert harness.states() == {"waiting": 1}


async def test_an_unresolved_name_is_recorded(harness: WorkerHarness) -> None:
    async def nothing(host: str, port: int) -> list[str]:
        raise OSError(f"no such host: {host}")

    hook_id = harness.hook("https://nowhere.example/hook")
    await harness.work(real=True, guard=Guard(resolver=nothing))
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"] == "resolve: no such host: nowhere.example"
    assert row["address"] is None


# The guard.


async def refused(harness: WorkerHarness, url: str, resolver: Any = None, **settings: Any) -> Row:
    guard = None if resolver is None else Guard(resolver=resolver)
    hook_id = harness.hook(url)
    await harness.work(real=True, guard=guard, **settings)
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["status_code"] is None
    assert harness.states() == {"waiting": 1}
    return row


async def test_a_refused_address_names_rule_and_setting(harness: WorkerHarness) -> None:
    row = await refused(harness, "http://10.1.2.3/hook", allow_networks=[])
    assert row["error"].startswith("guard: ")
    assert "10.1.2.3" in row["error"]
    assert "private" in row["error"]
    assert "allow_networks" in row["error"]


async def test_a_refused_port_names_the_setting(harness: WorkerHarness) -> None:
    row = await refused(harness, "http://192.0.2.1:8080/hook", callback_ports="443")
    assert row["error"].startswith("guard: ")
    assert "8080" in row["error"]
    assert "callback_ports" in row["error"]


async def test_a_refused_attempt_shows_all_that_would_have_been_sent(
    harness: WorkerHarness,
) -> None:
    row = await refused(harness, "http://10.1.2.3/hook?a=b", allow_networks=[])
    headers = row["request_headers"]
    assert headers["X-Service-Event"] == headers["X-GitHub-Event"] == "push"
    assert headers["X-GitHub-Hook-ID"] == "1"
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"] == USER_AGENT


async def test_a_rebound_name_is_refused_at_the_delivery(
    harness: WorkerHarness,
) -> None:
    addresses = ["93.184.216.34"]

    async def rebinding(host: str, port: int) -> list[str]:
        return list(addresses)

    guard = Guard(resolver=rebinding)
    # The hub checks the URL when the hook is created.
    await guard.judge("http://rebind.example/hook")
    addresses[:] = ["127.0.0.1"]
    hook_id = harness.hook("http://rebind.example/hook")
    await harness.work(real=True, guard=guard)
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"].startswith("guard: ")
    for word in ("127.0.0.1", "rebind.example", "loopback", "allow_networks"):
        assert word in row["error"]


async def test_the_address_that_was_judged_is_dialled(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second resolution would return another address, so the name must be resolved only once.
    asked: list[str] = []

    async def flipping(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    def forbidden(*args: object, **more: object) -> None:
        raise AssertionError("the system resolver was called")

    async with serving(ok) as receiver:
        hook_id = harness.hook(f"http://flip.example:{receiver.port}/")
        await harness.work(real=True, guard=Guard(allow_networks=LOOPBACK, resolver=flipping))
        monkeypatch.setattr(socket, "gethostbyname", forbidden)
        await harness.event()
        await harness.over(delivered=1)
        (row,) = harness.attempts(hook_id)
        await harness.rest()
    assert asked == ["flip.example"]
    assert receiver.hosts == ["127.0.0.1"]
    assert row["address"] == "127.0.0.1"
    assert row["request_headers"]["Host"] == f"flip.example:{receiver.port}"


async def test_one_forbidden_answer_refuses_them_all(harness: WorkerHarness) -> None:
    async def mixed(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "169.254.169.254"]

    row = await refused(harness, "https://mixed.example/", resolver=mixed)
    assert "169.254.169.254" in row["error"]


# Errors before the request.


async def test_a_secret_that_does_not_open_is_a_failure_to_see(harness: WorkerHarness) -> None:
    hook_id = harness.hook(secret=SECRET)
    harness.store.write_sync(
        lambda db: db.execute("UPDATE hook SET secret = :other", other=b"damaged")
    )
    await harness.work()
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"].startswith("secret: ")
    assert "key" in row["error"]
    assert not harness.network.posts, "no unsigned request is sent"
    assert harness.states() == {"waiting": 1}


async def test_an_error_of_ours_costs_the_attempt_and_not_the_delivery(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(post: Any) -> Any:
        raise RuntimeError("a mistake")

    harness.network.script = broken
    hook_id = harness.hook()
    other = harness.hook(events=["issues"])
    await harness.work()
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"] == "internal: RuntimeError: a mistake"
    assert "a mistake" in caplog.text
    harness.network.script = lambda post: said()
    await harness.event(name="issues")
    await until(lambda: harness.states(other) == {"delivered": 1})
    await harness.pass_time(5)
    await harness.over(delivered=2)


async def test_a_mistake_before_the_request_is_an_attempt(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*args: Any) -> str | None:
        monkeypatch.undo()
        raise RuntimeError("a mistake")

    monkeypatch.setattr(send, "undeliverable_reason", mistaken)
    hook_id = harness.hook(options={"retries": [0, 0]})
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    first, second = harness.attempts(hook_id)
    assert first["error"] == "internal: RuntimeError: a mistake"
    assert second["status_code"] == 200


async def test_attempts_are_recorded_once_each(harness: WorkerHarness) -> None:
    async with serving(ok) as receiver:
        hook_id = harness.hook(receiver.url)
        await harness.work(real=True)
        await asyncio.gather(*(harness.events(20) for _ in range(5)))
        await harness.over(delivered=100)
        await harness.rest()
    assert len(receiver.bodies) == 100
    rows = harness.attempts(hook_id)
    assert len({row["delivery_id"] for row in rows}) == len(rows) == 100


async def test_a_kept_connection_is_used_again(harness: WorkerHarness) -> None:
    async with serving(ok) as receiver:
        hook_id = harness.hook(receiver.url)
        await harness.work(real=True)
        for count in range(1, 4):
            await harness.event()
            await harness.over(delivered=count)
        rows = harness.attempts(hook_id)
        await harness.rest()
    assert receiver.connections == 1
    assert "connect" in rows[0]["timings"]
    assert all("connect" not in row["timings"] for row in rows[1:])
    assert all(row["address"] == "127.0.0.1" for row in rows)


def test_the_real_transport_is_a_poster() -> None:
    # The scripted network replaces the transport in tests, so both must have the same signature.
    assert inspect.signature(Network.post) == inspect.signature(Transport.post)
