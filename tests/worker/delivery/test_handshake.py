"""Handshakes of CloudEvents: the worker sends no delivery before the receiver consents."""

from typing import Any

import pytest
from waiting import until
from worker_harness import Gate, Post, WorkerHarness, said, settle

from store import Connection
from store.clock import HOUR
from store.delivery import hook_removal, leases, outbox
from store.hook_state import hook_pauses
from worker.endpoint_access.handshake import read_consent
from worker.http.answer import ExchangeResult

ORIGIN = "hub.example"
WANTED = {"handshake": "cloudevents"}
GRANTED = b"WebHook-Allowed-Origin: hub.example\r\nWebHook-Allowed-Rate: 120"


def answering(harness: WorkerHarness, head: bytes, status: int = 200) -> None:
    """Let the network answer OPTIONS with this head and status, and other requests with 200."""

    def script(post: Post) -> ExchangeResult:
        return said(status, head=head) if post.head.startswith(b"OPTIONS ") else said()

    harness.network.script = script


def methods(harness: WorkerHarness) -> list[str]:
    return [post.head.split(b" ", 1)[0].decode() for post in harness.network.posts]


async def test_consent_comes_first_and_once(harness: WorkerHarness) -> None:
    answering(harness, GRANTED)
    hook_id = harness.hook(options=WANTED | {"headers": {"X-Api-Key": "hunter2-hunter2"}})
    worker = await harness.work(request_origin=ORIGIN)
    assert harness.hook_row(hook_id)["handshake"] == "pending"
    await harness.event()
    await harness.over(delivered=1)
    asked, post = harness.network.posts
    assert methods(harness) == ["OPTIONS", "POST"]
    assert asked.headers["webhook-request-origin"] == ORIGIN
    assert asked.headers["x-api-key"] == "hunter2-hunter2"
    assert "webhook-request-rate" not in asked.headers
    assert (asked.body, asked.head[-4:]) == (b"", b"\r\n\r\n")
    assert post.headers["webhook-request-origin"] == post.headers["origin"] == ORIGIN
    row = harness.hook_row(hook_id)
    assert (row["handshake"], row["handshake_rate"]) == ("granted", 120)
    assert worker.dispatcher.lanes.get(hook_id).rate == 2, "120 requests a minute are 2 a second"
    harness.edit(hook_id, options=WANTED | {"timeout": 9})
    await harness.rest()
    await harness.work(request_origin=ORIGIN)
    await harness.event()
    await harness.over(delivered=2)
    assert methods(harness) == ["OPTIONS", "POST", "POST"]


async def test_workers_share_the_granted_rate(harness: WorkerHarness) -> None:
    answering(harness, GRANTED)
    hook_id = harness.hook(options=WANTED)
    worker = await harness.work(request_origin=ORIGIN)
    await harness.event()
    await harness.over(delivered=1)
    lanes = worker.dispatcher.lanes
    assert lanes.get(hook_id).rate == 2
    other = harness.store.write_sync(leases.acquire, "another worker", HOUR)
    # The rate lets this event wait, so its lane is in use during the poll.
    await harness.event()
    await worker.poll()
    await harness.over(delivered=2)
    assert lanes.get(hook_id).rate == 1
    harness.store.write_sync(leases.release, other)
    await harness.event()
    await worker.poll()
    await harness.over(delivered=3)
    assert lanes.get(hook_id).rate == 2


async def test_another_url_needs_consent_of_its_own(harness: WorkerHarness) -> None:
    answering(harness, GRANTED)
    hook_id = harness.hook(options=WANTED)
    await harness.work(request_origin=ORIGIN)
    for number, url in enumerate(["https://a.example/", "https://b.example/"], 1):
        harness.edit(hook_id, url=url)
        assert harness.hook_row(hook_id)["handshake"] == "pending"
        await harness.event()
        await harness.over(delivered=number)
    assert methods(harness) == ["OPTIONS", "POST"] * 2
    assert [post.host for post in harness.network.posts] == ["a.example"] * 2 + ["b.example"] * 2


async def test_the_rate_of_the_hook_is_asked_for_and_not_exceeded(harness: WorkerHarness) -> None:
    answering(harness, b"WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: *")
    hook_id = harness.hook(options=WANTED | {"rate": 0.5})
    worker = await harness.work(request_origin=ORIGIN)
    await harness.event()
    await harness.over(delivered=1)
    assert harness.network.posts[0].headers["webhook-request-rate"] == "30"
    assert worker.dispatcher.lanes.get(hook_id).rate == 0.5


@pytest.mark.parametrize("ends", ["resume", "edit"])
async def test_without_consent_nothing_is_sent(harness: WorkerHarness, ends: str) -> None:
    answering(harness, b"WebHook-Allowed-Origin: other.example", 204)
    hook_id = harness.hook(options=WANTED)
    await harness.work(request_origin=ORIGIN)
    await harness.event()
    await until(lambda: harness.hook_row(hook_id)["handshake"] == "failed")
    row = harness.hook_row(hook_id)
    assert row["paused_at"] is not None
    assert row["pause_reason"] == (
        "the handshake failed: the receiver allows another origin than hub.example"
    )
    await harness.over(waiting=1)
    assert methods(harness) == ["OPTIONS"]
    assert harness.attempts(hook_id) == []
    answering(harness, GRANTED)
    if ends == "resume":
        harness.store.write_sync(lambda db: hook_pauses.resume(db, row))
    else:
        harness.edit(hook_id, options={})
    await harness.over(delivered=1)
    assert methods(harness) == ["OPTIONS", *(["OPTIONS"] if ends == "resume" else []), "POST"]


@pytest.mark.parametrize("state", ["pending", "granted", "failed"])
async def test_a_deleted_hook_gets_its_last_event_with_consent_alone(
    harness: WorkerHarness, state: str
) -> None:
    origin = "hub" if state == "granted" else "other"
    answering(harness, f"WebHook-Allowed-Origin: {origin}.example".encode())
    hook_id = harness.hook(options=WANTED)
    if state != "pending":
        await harness.work(request_origin=ORIGIN)
        await harness.event()
        await until(lambda: harness.hook_row(hook_id)["handshake"] == state)
        await harness.rest()
    before = len(harness.network.posts)

    def delete(db: Connection) -> None:
        outbox.emit(db, "meta", "deleted", harness.repo["id"], {}, only_hook=hook_id)
        hook_removal.delete(db, harness.hook_row(hook_id))

    harness.store.write_sync(delete)
    await harness.work(request_origin=ORIGIN)
    await until(lambda: "waiting" not in harness.states(hook_id))
    assert methods(harness)[before:] == (["POST"] if state == "granted" else [])


@pytest.mark.parametrize(
    ("head", "asked", "rate", "problem"),
    [
        (b"WebHook-Allowed-Origin: *", False, None, ""),
        (b"webhook-allowed-origin: HUB.example", False, None, ""),
        (b"WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: 7", False, 7, ""),
        (b"WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: 7", True, 7, ""),
        (b"WebHook-Allowed-Origin: *", True, None, "no WebHook-Allowed-Rate"),
        (b"WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: 0", True, None, "no positive"),
        (b"WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: -1", True, None, "no positive"),
        (b"WebHook-Allowed-Origin: *\r\nWebHook-Allowed-Rate: x", False, None, "no positive"),
        (b"WebHook-Allowed-Rate: 7", False, None, "no WebHook-Allowed-Origin"),
        (b"WebHook-Allowed-Origin: hub.example.evil", False, None, "another origin"),
    ],
)
@pytest.mark.parametrize("status", [200, 204, 404])
def test_the_headers_decide(
    head: bytes, asked: bool, rate: int | None, problem: str, status: int
) -> None:
    consent = read_consent(said(status, head=head), ORIGIN, asked=asked)
    assert consent.rate == rate
    assert problem in consent.problem
    assert bool(problem) == bool(consent.problem)


def test_an_error_is_no_consent() -> None:
    refused: Any = said(error="connect: refused")
    consent = read_consent(refused, ORIGIN, asked=False)
    assert (consent.problem, consent.answered) == ("connect: refused", False)
    assert read_consent(said(503), ORIGIN, asked=False).answered


def down(post: Post) -> ExchangeResult:
    return said(error="connect: refused")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"ordering": "hook"},
        {"batch": {"max_events": 2, "max_wait": 0}},
        {"batch": {"max_events": 2, "max_wait": 0}, "ordering": "repository"},
    ],
    ids=lambda more: "+".join(more) or "plain",
)
async def test_a_receiver_that_is_down_gets_the_delivery_by_schedule(
    harness: WorkerHarness, more: dict[str, Any]
) -> None:
    harness.network.script = down
    hook_id = harness.hook(options=WANTED | more)
    await harness.work(request_origin=ORIGIN)
    for _ in range(2):
        await harness.event()
    ordered = "ordering" in more and "batch" not in more
    await harness.recorded(hook_id, 1 if ordered else 2)
    assert {row["error"] for row in harness.attempts(hook_id)} == {
        "handshake: no answer: connect: refused"
    }
    row = harness.hook_row(hook_id)
    assert (row["handshake"], row["paused_at"]) == ("pending", None)
    assert row["failing_since"] is not None
    answering(harness, GRANTED)
    asked = len(methods(harness))
    await harness.pass_time(5)
    await harness.pass_time(5)
    await harness.over(delivered=2)
    assert methods(harness)[:asked] == ["OPTIONS"] * asked
    assert methods(harness)[asked:].count("OPTIONS") == 1
    assert harness.hook_row(hook_id)["handshake"] == "granted"


async def test_deliveries_that_wait_share_a_handshake_without_an_answer(
    harness: WorkerHarness,
) -> None:
    hook_id = harness.hook(options={"breaker": 0})
    worker = await harness.work(request_origin=ORIGIN)
    for number in range(1, 7):
        await harness.event()
        await harness.over(delivered=number)
    assert worker.dispatcher.lanes.get(hook_id).limit >= 8
    gate = Gate(["down.example"], lambda: said(error="timeout: connect"))
    harness.network.script = gate
    harness.network.posts.clear()
    harness.edit(hook_id, url="https://down.example/", options=WANTED | {"breaker": 0})
    await harness.events(8)
    await until(lambda: len(harness.network.posts) == 1)
    await settle()
    gate.opened.set()
    await harness.recorded(hook_id, 14)
    assert methods(harness) == ["OPTIONS"]


async def test_each_retry_asks_a_receiver_that_is_down_once(harness: WorkerHarness) -> None:
    harness.network.script = down
    hook_id = harness.hook(options=WANTED)
    await harness.work(request_origin=ORIGIN, retries=[0, 5, 30])
    await harness.event()
    for number, delay in enumerate([0, 5, 30], 1):
        await harness.pass_time(delay)
        await harness.recorded(hook_id, number)
        assert methods(harness) == ["OPTIONS"] * number
    await harness.over(dead=1)
