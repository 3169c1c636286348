"""Instructions in answers: a receiver pauses its hook, ends one delivery, or disables the hook."""

import asyncio
import threading

import pytest
from waiting import PATIENCE, until
from worker_harness import Gate, Post, WorkerHarness, said, settle

from store import Connection, Row
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from worker.http.answer import ExchangeResult

HOUR = 3600
DISABLED = "the receiver answered webhook-delivery: disable"


def last_attempt(harness: WorkerHarness, hook_id: int) -> Row:
    return harness.attempts(hook_id)[-1]


def answers(harness: WorkerHarness, *given: ExchangeResult) -> None:
    """Let the network answer with each of these once, and then with 200."""
    left = [*given]
    harness.network.script = lambda post: left.pop(0) if left else said()


async def held(harness: WorkerHarness, status: int = 503, **hook: object) -> int:
    """Let the receiver of a new hook ask for a pause of an hour. Return the hook's id."""
    answers(harness, said(status, head=b"Retry-After: 3600"))
    hook_id = harness.hook(**hook)
    await harness.work()
    await harness.event()
    await harness.recorded(hook_id, 1)
    return hook_id


@pytest.mark.parametrize("status", [413, 429, 500, 503])
async def test_retry_after_holds_all_deliveries_of_the_hook(
    harness: WorkerHarness, status: int
) -> None:
    hook_id = await held(harness, status)
    other = harness.hook()
    await harness.events(3)
    await harness.recorded(other, 3)
    await harness.pass_time(HOUR - 1)
    assert len(harness.attempts(hook_id)) == 1
    assert last_attempt(harness, hook_id)["instruction"] == "retry-after=3600"
    assert harness.hook_row(hook_id)["held_until"] == harness.clock.now() + 1_000_000
    await harness.pass_time(1)
    await harness.over(delivered=7)


async def test_a_receiver_is_obeyed_although_a_short_secret_is_masked(
    harness: WorkerHarness,
) -> None:
    hook_id = await held(harness, options={"headers": {"X-Auth-Version": "3600"}})
    assert last_attempt(harness, hook_id)["instruction"] == "retry-after=3600"
    assert "3600" not in repr(last_attempt(harness, hook_id)["response_headers"])
    answers(harness, said(503, head=b"webhook-delivery: abort-message"))
    other = harness.hook(secret="message")
    await harness.event()
    await harness.recorded(other, 1)
    assert last_attempt(harness, other)["instruction"] == "abort-message"


async def test_a_held_hook_is_woken_without_a_scan(harness: WorkerHarness) -> None:
    answers(harness, said(503, head=b"Retry-After: 1"))
    hook_id = harness.hook(options={"retries": [0, 0.01]})
    worker = await harness.work()
    await harness.event()
    await harness.recorded(hook_id, 1)
    assert worker.dispatcher.claimer.retry_timer.wakes_at is not None
    harness.clock.advance(1)
    await harness.over(delivered=1)


async def test_the_pause_survives_a_restart(harness: WorkerHarness) -> None:
    hook_id = await held(harness)
    harness.crash()
    await harness.work()
    await harness.event()
    await settle()
    await harness.all_returned()
    assert len(harness.attempts(hook_id)) == 1
    await harness.pass_time(HOUR)
    await harness.over(delivered=2)


@pytest.mark.parametrize(
    "change", [{"url": "https://another.example/hook"}, {"active": False}], ids=["url", "again"]
)
async def test_an_edit_of_the_endpoint_ends_the_pause(
    harness: WorkerHarness, change: dict[str, str]
) -> None:
    hook_id = await held(harness)
    harness.edit(hook_id, **change)
    if "active" in change:
        harness.edit(hook_id, active=True)
    assert harness.hook_row(hook_id)["held_until"] is None
    await harness.event()
    # The worker finds edited hooks at its next poll, a few seconds later.
    await harness.pass_time(5)
    await until(lambda: harness.counts()["delivered"] >= 1)


async def test_a_group_that_is_committed_during_a_pause_is_sent_after_it(
    harness: WorkerHarness,
) -> None:
    """The receiver asks for a pause while a large group is committed, which then fills its lane."""
    gate = Gate(["h1.example"])

    async def script(post: Post) -> ExchangeResult:
        await gate(post)
        return said() if len(harness.network.posts) > 1 else said(503, head=b"Retry-After: 5")

    harness.network.script = script
    hook_id = harness.hook()
    worker = await harness.work()
    await harness.event()
    await until(lambda: bool(harness.network.posts))
    lane = worker.dispatcher.lanes.get(hook_id)
    stored, paused = threading.Event(), threading.Event()

    def slow(db: Connection, arrivals: list[IncomingEvent]) -> None:
        events.accept_all(db, arrivals)
        stored.set()
        assert paused.wait(PATIENCE)

    most = harness.tuning.max_queue
    arrivals = [harness.arrival() for _ in range(most)]
    writing = asyncio.create_task(harness.store.write(slow, arrivals))
    await until(stored.is_set)
    gate.opened.set()
    await until(lambda: lane.held_until > 0)
    paused.set()
    await writing
    await until(lambda: len(lane.queue) == most)
    await harness.pass_time(5)
    await harness.over(delivered=most + 1)


async def test_another_edit_keeps_the_pause(harness: WorkerHarness) -> None:
    hook_id = await held(harness)
    harness.edit(hook_id, content_type="form")
    await harness.event()
    await harness.pass_time(HOUR - 1)
    assert len(harness.attempts(hook_id)) == 1
    await harness.pass_time(1)
    await harness.over(delivered=2)


async def test_a_receiver_that_asks_again_is_left_alone_again(harness: WorkerHarness) -> None:
    hook_id = await held(harness)
    answers(harness, said(503, head=b"Retry-After: 7200"))
    await harness.pass_time(HOUR)
    await harness.recorded(hook_id, 2)
    await harness.event()
    await harness.pass_time(2 * HOUR - 1)
    assert len(harness.attempts(hook_id)) == 2
    await harness.pass_time(1)
    await harness.over(delivered=2)


async def test_429_uses_up_no_retry(harness: WorkerHarness) -> None:
    answers(harness, *[said(429)] * 6, said(500))
    hook_id = harness.hook(options={"retries": [0, 5], "breaker": 0})
    await harness.work()
    await harness.event()
    for number in range(1, 8):
        await harness.recorded(hook_id, number)
        await harness.pass_time(6)
    await harness.over(delivered=1)
    rows = harness.attempts(hook_id)
    assert [row["number"] for row in rows] == list(range(1, 9))
    assert [row["instruction"] for row in rows] == ["throttle"] * 6 + [None] * 2
    (delivery,) = harness.deliveries()
    assert delivery["attempts"] == 8


async def test_abort_message_ends_one_delivery(harness: WorkerHarness) -> None:
    answers(harness, said(500, head=b"Webhook-Delivery: abort-message"))
    hook_id = harness.hook()
    await harness.work()
    await harness.event()
    await harness.over(dead=1)
    await harness.event()
    await harness.over(dead=1, delivered=1)
    assert harness.hook_row(hook_id)["active"] == 1
    assert harness.attempts(hook_id)[0]["instruction"] == "abort-message"


@pytest.mark.parametrize(("status", "state"), [(200, "delivered"), (500, "dead"), (429, "dead")])
async def test_disable_ends_the_hook(harness: WorkerHarness, status: int, state: str) -> None:
    answers(harness, said(status, head=b"webhook-delivery: disable"))
    hook_id = harness.hook()
    await harness.work()
    await harness.event()
    await harness.over(**{state: 1})
    await until(lambda: harness.hook_row(hook_id)["active"] == 0)
    row = harness.hook_row(hook_id)
    assert row["disabled_reason"] == DISABLED
    assert (row["failing_since"] is None) == (status == 200)
    assert last_attempt(harness, hook_id)["instruction"] == "disable"
    await harness.event()
    assert len(harness.deliveries()) == 1


async def test_unknown_instructions_of_a_receiver_are_ignored(harness: WorkerHarness) -> None:
    def script(post: Post) -> ExchangeResult:
        return said(head=b"webhook-delivery: please\r\nX: webhook-delivery: disable")

    harness.network.script = script
    hook_id = harness.hook()
    await harness.work()
    await harness.events(3)
    await harness.over(delivered=3)
    assert harness.hook_row(hook_id)["active"] == 1
    assert last_attempt(harness, hook_id)["instruction"] is None


@pytest.mark.parametrize(
    ("status", "head"),
    [(503, b"Retry-After: 3600"), (410, b""), (200, b"webhook-delivery: disable")],
)
async def test_an_answer_of_a_former_url_leaves_the_new_one_alone(
    harness: WorkerHarness, status: int, head: bytes
) -> None:
    gate = harness.network.script = Gate(["old.example"], lambda: said(status, head=head))
    hook_id = harness.hook("https://old.example/hook", options={"retries": [0, 1]})
    await harness.work()
    await harness.event()
    await until(lambda: bool(harness.network.posts))
    harness.edit(hook_id, url="https://new.example/hook")
    await harness.event()
    await harness.recorded(hook_id, 1)
    gate.opened.set()
    await harness.recorded(hook_id, 2)
    row = harness.hook_row(hook_id)
    assert (row["active"], row["held_until"]) == (1, None)
    await harness.event()
    await harness.pass_time(HOUR)
    await harness.over(delivered=3)


async def test_a_failure_of_a_former_url_opens_no_circuit(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    gate = harness.network.script = Gate(["old.example"], lambda: said(500))
    hook_id = harness.hook("https://old.example/hook", options={"breaker": 1, "retries": [0]})
    await harness.work()
    await harness.event()
    await until(lambda: bool(harness.network.posts))
    harness.edit(hook_id, url="https://new.example/hook")
    await harness.event()
    await harness.recorded(hook_id, 1)
    gate.opened.set()
    await harness.over(delivered=1, dead=1)
    assert "rests for" not in caplog.text
    await harness.event()
    await harness.over(delivered=2, dead=1)


async def test_a_pause_of_a_former_url_ends_when_the_new_one_is_known(
    harness: WorkerHarness,
) -> None:
    """The receiver asks for the pause while the worker shakes hands with the new receiver."""
    former = Gate(["old.example"], lambda: said(503, head=b"Retry-After: 3600"))
    new = Gate(["new.example"], lambda: said(head=b"WebHook-Allowed-Origin: *"))
    harness.network.script = lambda post: (former if post.host == "old.example" else new)(post)
    hook_id = harness.hook("https://old.example/hook")
    await harness.work()
    await harness.event()
    await until(lambda: bool(harness.network.to("old.example")))
    wanted = {"handshake": "cloudevents"}
    harness.edit(hook_id, url="https://new.example/hook", options=wanted)
    await harness.event()
    await until(lambda: bool(harness.network.to("new.example")))
    former.opened.set()
    await harness.recorded(hook_id, 1)
    new.opened.set()
    await harness.recorded(hook_id, 2)
    await harness.event()
    await harness.over(delivered=2, waiting=1)
