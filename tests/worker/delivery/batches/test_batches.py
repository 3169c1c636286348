"""Batches: one request has several deliveries of a hook, and each delivery has its own record."""

import time
from collections import Counter
from typing import Any

import orjson
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from receivers import serving
from standardwebhooks import Webhook
from waiting import until
from worker_harness import Gate, Post, WorkerHarness, said, settle

from store.clock import SECOND
from store.delivery import deliveries, incoming
from store.formats import batches
from worker.delivery.batches import sender
from worker.http.answer import ExchangeResult
from worker.signing.sign import Signer

# A batch takes only the deliveries that wait already.
NOW = {"batch": {"max_wait": 0}}
LONG = {"batch": {"max_events": 4, "max_wait": 60}}
# The clock of the tests stands still, so the wait ends only when a test moves it.
SHORT = {"batch": {"max_events": 4, "max_wait": 0.01}}
UNKNOWN = "batch: the answer names an id that is not in the batch"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def elements(post: Post) -> list[Any]:
    found = orjson.loads(post.body)
    assert isinstance(found, list)
    assert int(post.headers["webhook-batch"]) == len(found)
    return found


def ids(post: Post) -> list[str]:
    return [one["id"] for one in elements(post)]


def sizes(harness: WorkerHarness) -> list[int]:
    return [len(elements(post)) for post in harness.network.posts]


async def waiting(harness: WorkerHarness, count: int, **given: Any) -> list[str]:
    """Create `count` events, whose deliveries wait in the store. Return their ids."""
    return [(await harness.event(**given)).guid for _ in range(count)]


async def test_deliveries_that_wait_go_in_one_request(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=NOW)
    guids = await waiting(harness, 7)
    await harness.work()
    await harness.over(delivered=7)
    (post,) = harness.network.posts
    assert ids(post) == guids
    assert [(one["event"], one["payload"]) for one in elements(post)] == [("push", {})] * 7
    headers = post.headers
    assert headers["content-type"] == "application/json"
    assert headers["webhook-id"] == batches.batch_id(guids)
    assert "x-github-event" not in headers, "a batch has no single event type"
    rows = harness.attempts(hook_id)
    assert [row["guid"] for row in rows] == guids
    assert {row["request_headers"]["webhook-id"] for row in rows} == {headers["webhook-id"]}
    assert {row["number"] for row in rows} == {1}


async def test_a_batch_has_no_more_events_than_the_hook_allows(harness: WorkerHarness) -> None:
    harness.hook(options={"batch": {"max_events": 3, "max_wait": 0}, "concurrency": 1})
    guids = await waiting(harness, 8)
    await harness.work()
    await harness.over(delivered=8)
    assert sizes(harness) == [3, 3, 2]
    assert [guid for post in harness.network.posts for guid in ids(post)] == guids


async def test_a_batch_has_no_more_bytes_than_the_hook_allows(harness: WorkerHarness) -> None:
    most = 2_000
    harness.hook(options={"batch": {"max_bytes": most, "max_wait": 0}, "concurrency": 1})
    small, huge = b'{"a":"%b"}' % (b"x" * 700), b'{"a":"%b"}' % (b"x" * 5000)
    for body in (small, small, small, huge, small):
        await harness.event(body)
    await harness.work()
    await harness.over(delivered=5)
    assert sizes(harness) == [2, 1, 1, 1]
    assert [len(post.body) > most for post in harness.network.posts] == [False, False, True, False]
    first = harness.network.posts[0].body
    assert len(first) == batches.size(map(orjson.dumps, orjson.loads(first)))


async def test_a_full_batch_does_not_wait(harness: WorkerHarness) -> None:
    harness.hook(options=LONG)
    await harness.work()
    for _ in range(3):
        await harness.event()
    await settle()
    assert not harness.network.posts
    await harness.event()
    await harness.over(delivered=4)
    assert sizes(harness) == [4]


async def test_a_batch_waits_no_longer_than_the_hook_allows(harness: WorkerHarness) -> None:
    harness.hook(options=SHORT)
    await harness.work()
    for _ in range(3):
        await harness.event()
    await settle()
    assert not harness.network.posts, "the wait ends only when the clock moves"
    harness.clock.advance(0.02)
    await harness.over(delivered=3)
    assert sizes(harness) == [3]


async def test_a_restart_does_not_begin_the_wait_anew(harness: WorkerHarness) -> None:
    harness.hook(options=LONG)
    await harness.work()
    await waiting(harness, 3)
    await settle()
    await harness.rest()
    harness.clock.advance(61)
    await harness.work()
    await harness.over(delivered=3)
    assert sizes(harness) == [3]


async def test_a_changed_wait_applies_to_waiting_deliveries(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=LONG)
    await harness.work()
    await waiting(harness, 2)
    await settle()
    assert not harness.network.posts
    harness.edit(hook_id, options={})
    await harness.over(delivered=2)
    assert [post.body for post in harness.network.posts] == [b"{}", b"{}"]


async def test_several_batches_are_in_flight_at_once(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    options = {"batch": {"max_events": 2, "max_wait": 0}}
    harness.hook("https://slow.example/hook", options=options)
    await waiting(harness, 6)
    await harness.work()
    await until(lambda: len(harness.network.posts) == 3)
    assert sizes(harness) == [2, 2, 2]
    gate.opened.set()
    await harness.over(delivered=6)


@pytest.mark.parametrize("status", [200, 207])
async def test_only_events_that_the_receiver_names_are_retried(
    harness: WorkerHarness, status: int
) -> None:
    hook_id = harness.hook(options=NOW | {"retries": [0, 10]})
    guids = await waiting(harness, 5)
    named = {"failed": [guids[1], guids[3]]}
    answers = [said(status, body=orjson.dumps(named)), said()]
    harness.network.script = lambda _: answers.pop(0)
    await harness.work()
    await harness.over(delivered=3, waiting=2)
    await harness.pass_time(11)
    await harness.over(delivered=5)
    assert [ids(post) for post in harness.network.posts] == [guids, [guids[1], guids[3]]]
    rows = harness.attempts(hook_id)
    failed = [row for row in rows if row["error"]]
    assert [(row["guid"], row["status_code"], row["number"]) for row in failed] == [
        (guids[1], status, 1),
        (guids[3], status, 1),
    ]
    assert failed[0]["error"] == "batch: the receiver named this event as failed"
    assert Counter(row["guid"] for row in rows) == Counter([*guids, guids[1], guids[3]])
    assert harness.hook_row(hook_id)["failing_since"] is None, "the receiver accepted the request"


async def test_a_retry_goes_with_newer_deliveries(harness: WorkerHarness) -> None:
    harness.hook(options=NOW | {"retries": [0, 10], "concurrency": 1})
    guids = await waiting(harness, 3)
    answers = [said(body=orjson.dumps({"failed": guids[:1]})), said()]
    harness.network.script = lambda _: answers.pop(0)
    await harness.work()
    await harness.over(delivered=2, waiting=1)
    await harness.rest()
    harness.clock.advance(11)
    newer = await waiting(harness, 2)
    await harness.work()
    await harness.over(delivered=5)
    assert ids(harness.network.posts[1]) == [guids[0], *newer]


async def test_a_batch_that_fails_is_retried_as_a_whole(harness: WorkerHarness) -> None:
    answers = [said(503), said(500), said()]
    harness.network.script = lambda _: answers.pop(0)
    hook_id = harness.hook(options=NOW | {"retries": [0, 10, 10]})
    guids = await waiting(harness, 4)
    # Jitter must not give the deliveries of a failed batch different retry times.
    await harness.work(jitter=0.5)
    for attempts in (4, 8):
        await harness.recorded(hook_id, attempts)
        await harness.pass_time(16)
    await harness.over(delivered=4)
    assert [ids(post) for post in harness.network.posts] == [guids] * 3
    assert len({post.headers["webhook-id"] for post in harness.network.posts}) == 1


async def test_all_deliveries_of_a_failing_batch_die_after_the_last_retry(
    harness: WorkerHarness,
) -> None:
    harness.network.script = lambda _: said(500)
    harness.hook(options=NOW | {"retries": [0]})
    await waiting(harness, 3)
    await harness.work()
    await harness.over(dead=3)
    assert sizes(harness) == [3]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"failed": 2}, "batch: the member failed of the answer is no list of ids"),
        ({"failed": [7]}, "batch: the member failed of the answer is no list of ids"),
        ({"failed": ["other"]}, UNKNOWN),
    ],
)
async def test_an_answer_that_does_not_say_which_events_failed(
    harness: WorkerHarness, answer: Any, error: str
) -> None:
    harness.network.script = lambda _: said(body=orjson.dumps(answer))
    hook_id = harness.hook(options=NOW | {"retries": [0, 10]})
    await waiting(harness, 2)
    await harness.work()
    rows = await harness.recorded(hook_id, 2)
    assert [row["error"] for row in rows] == [error] * 2
    await harness.over(waiting=2)


@pytest.mark.parametrize(
    ("function", "failed"),
    [pytest.param("element_of", 1, id="event"), pytest.param("head_of", 3, id="request")],
)
async def test_an_error_while_a_batch_is_built_costs_one_attempt(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, function: str, failed: int
) -> None:
    def broken(*args: Any, **given: Any) -> Any:
        monkeypatch.undo()
        raise ValueError("broken")

    monkeypatch.setattr(sender, function, broken)
    hook_id = harness.hook(options=NOW | {"retries": [0, 0]})
    await waiting(harness, 3)
    await harness.work()
    await harness.over(delivered=3)
    errors = Counter(row["error"] for row in harness.attempts(hook_id))
    assert errors == {"internal: ValueError: broken": failed, None: 3}


async def test_an_answer_that_names_a_secret_is_recorded_without_it(harness: WorkerHarness) -> None:
    answer = orjson.dumps({"failed": [f"Bearer {SECRET}"]})
    harness.network.script = lambda _: said(body=answer)
    hook_id = harness.hook(secret=SECRET, options=NOW | {"retries": [0, 10]})
    await waiting(harness, 1)
    await harness.work()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"] == UNKNOWN
    assert SECRET not in str(row)


async def test_a_truncated_answer_to_a_batch_is_a_failure(harness: WorkerHarness) -> None:
    answer = said(body=b'{"failed": ["' + b"x" * 100)
    answer.truncated = True
    harness.network.script = lambda _: answer
    hook_id = harness.hook(options=NOW | {"retries": [0, 10]})
    await waiting(harness, 1)
    await harness.work()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"] == "batch: the answer is too long to be read as JSON"


@pytest.mark.parametrize("answer", [b"ok", b"", b"[1]", b'{"failed": []}', b'{"failed": 0}'])
async def test_other_answers_mean_that_all_were_delivered(
    harness: WorkerHarness, answer: bytes
) -> None:
    harness.network.script = lambda _: said(body=answer)
    harness.hook(options=NOW)
    await waiting(harness, 2)
    await harness.work()
    await harness.over(delivered=2)


async def test_a_batch_that_is_too_large_is_halved(harness: WorkerHarness) -> None:
    def script(post: Post) -> ExchangeResult:
        return said(413 if len(elements(post)) > 3 else 200)

    harness.network.script = script
    hook_id = harness.hook(options=NOW | {"retries": [0], "concurrency": 1})
    await waiting(harness, 12)
    await harness.work()
    await harness.recorded(hook_id, 12)
    await harness.over(delivered=12)
    assert sizes(harness)[0] == 12
    assert max(sizes(harness)[-2:]) <= 3
    refused = [row for row in harness.attempts(hook_id) if row["status_code"] == 413]
    assert {row["instruction"] for row in refused} == {"smaller-batch"}


async def test_one_event_that_is_too_large_fails(harness: WorkerHarness) -> None:
    harness.network.script = lambda _: said(413)
    harness.hook(options=NOW | {"retries": [0]})
    await waiting(harness, 2)
    await harness.work()
    await harness.over(dead=2)
    assert sizes(harness) == [2, 1, 1]


async def test_a_throttled_batch_uses_up_no_retry(harness: WorkerHarness) -> None:
    answers = [said(429, head=b"Retry-After: 30"), said()]
    harness.network.script = lambda _: answers.pop(0)
    hook_id = harness.hook(options=NOW | {"retries": [0]})
    await waiting(harness, 3)
    await harness.work()
    await harness.recorded(hook_id, 3)
    assert harness.hook_row(hook_id)["held_until"] == harness.clock.now() + 30_000_000
    await harness.pass_time(61)
    await harness.over(delivered=3)


async def test_retry_after_beside_named_events_holds_the_hook(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=NOW | {"retries": [0, 1]})
    guids = await waiting(harness, 2)
    named = orjson.dumps({"failed": guids[1:]})
    answers = [said(body=named, head=b"Retry-After: 30"), said()]
    harness.network.script = lambda _: answers.pop(0)
    await harness.work()
    await harness.over(delivered=1, waiting=1)
    assert harness.hook_row(hook_id)["held_until"] == harness.clock.now() + 30_000_000
    await harness.pass_time(31)
    await harness.over(delivered=2)


async def test_a_receiver_that_is_gone_disables_the_hook(harness: WorkerHarness) -> None:
    harness.network.script = lambda _: said(410)
    hook_id = harness.hook(options=NOW)
    await waiting(harness, 3)
    await harness.work()
    await harness.over(dead=3)
    row = harness.hook_row(hook_id)
    assert (row["active"], row["disabled_reason"]) == (0, "the receiver answered 410 Gone")


async def test_a_receiver_aborts_the_deliveries_that_it_names(harness: WorkerHarness) -> None:
    harness.hook(options=NOW)
    guids = await waiting(harness, 3)
    named = orjson.dumps({"failed": guids[:1]})
    harness.network.script = lambda _: said(body=named, head=b"webhook-delivery: abort-message")
    await harness.work()
    await harness.over(delivered=2, dead=1)


async def test_a_redelivery_does_not_wait_for_others(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options=NOW)
    await harness.event()
    await harness.work()
    await harness.over(delivered=1)
    harness.edit(hook_id, options=LONG)
    (row,) = harness.deliveries()
    harness.store.write_sync(deliveries.redeliver, row["event_id"], hook_id, harness.repo["id"])
    await harness.over(delivered=2)
    first, second = harness.network.posts
    assert ids(first) == ids(second)


async def test_a_delivery_without_a_body_is_left_out_of_a_batch(harness: WorkerHarness) -> None:
    harness.hook(options=NOW)
    guids = await waiting(harness, 3)
    harness.store.write_sync(
        lambda db: db.execute("UPDATE event SET body = NULL WHERE guid = :guid", guid=guids[1])
    )
    await harness.work()
    await harness.over(delivered=2, dead=1)
    (post,) = harness.network.posts
    assert ids(post) == [guids[0], guids[2]]


async def test_a_crash_during_a_batch_loses_nothing(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["slow.example"])
    options = {"batch": {"max_events": 4, "max_wait": 0}}
    hook_id = harness.hook("https://slow.example/hook", options=options)
    guids = await waiting(harness, 10)
    await harness.work()
    await until(lambda: len(harness.network.posts) == 3)
    harness.crash()
    assert not harness.attempts(hook_id)
    gate.opened.set()
    harness.network.posts.clear()
    await harness.work()
    await harness.over(delivered=10)
    assert sorted(guid for post in harness.network.posts for guid in ids(post)) == sorted(guids)


async def test_a_crash_while_a_batch_fills_loses_nothing(harness: WorkerHarness) -> None:
    harness.hook(options=LONG)
    await harness.work()
    await waiting(harness, 3)
    harness.crash()
    await harness.event()
    await harness.work()
    await harness.over(delivered=4)
    assert sizes(harness) == [4]


async def test_stopping_returns_a_batch_that_fills_to_the_store(harness: WorkerHarness) -> None:
    harness.hook(options=LONG)
    await harness.work()
    await waiting(harness, 3)
    await settle()
    await harness.rest()
    assert not harness.network.posts
    assert harness.counts()["waiting"] == 3


async def test_snapshots_go_in_batches_of_their_own(harness: WorkerHarness) -> None:
    harness.hook(options=NOW | {"concurrency": 1})
    guids = await waiting(harness, 4)
    harness.store.write_sync(
        lambda db: db.execute(
            "UPDATE event SET source_id = :source WHERE guid IN (:one, :two)",
            source=incoming.REPUBLISHED_SOURCE,
            one=guids[1],
            two=guids[2],
        )
    )
    await harness.work()
    await harness.over(delivered=4)
    assert [ids(post) for post in harness.network.posts] == [guids[:1], guids[1:3], guids[3:]]
    marked = ["x-hub-republished" in post.headers for post in harness.network.posts]
    assert marked == [False, True, False]


async def test_a_library_of_cloudevents_reads_the_batch(harness: WorkerHarness) -> None:
    options = NOW | {"format": "cloudevents_structured", "type_prefix": "com.github"}
    harness.hook(options=options)
    body = orjson.dumps({"ref": "refs/heads/main", "repository": {"url": "https://hub.example/r"}})
    guids = [(await harness.event(body)).guid for _ in range(3)]
    await harness.work()
    await harness.over(delivered=3)
    (post,) = harness.network.posts
    assert post.headers["content-type"] == "application/cloudevents-batch+json"
    # The library has no parser for batches, so each event of the array is parsed alone.
    one_of_many = {"content-type": "application/cloudevents+json"}
    read = [from_http_event(HTTPMessage(one_of_many, orjson.dumps(one))) for one in elements(post)]
    assert [event.get_id() for event in read] == guids
    assert {event.get_type() for event in read} == {"com.github.push"}
    assert all(event.get_data() == orjson.loads(body) for event in read)


async def test_thin_events_go_in_batches(harness: WorkerHarness) -> None:
    harness.hook(options=NOW | {"format": "thin"})
    guids = await waiting(harness, 2)
    await harness.work()
    await harness.over(delivered=2)
    (post,) = harness.network.posts
    assert (ids(post), post.headers["webhook-format"]) == (guids, "thin")


async def test_signatures_are_over_the_whole_body(harness: WorkerHarness) -> None:
    options = NOW | {"signatures": ["sha1", "sha256", "v1"]}
    harness.hook(options=options, secret=SECRET)
    # The library compares the timestamp with the system clock.
    harness.clock.advance(time.time() - harness.clock.now() / SECOND)
    await waiting(harness, 3)
    await harness.work()
    await harness.over(delivered=3)
    (post,) = harness.network.posts
    assert post.headers["x-hub-signature-256"] == Signer(SECRET).sha256(post.body)
    assert Webhook(SECRET).verify(post.body, post.headers) == elements(post)


async def test_batches_over_real_sockets(harness: WorkerHarness) -> None:
    guids: list[str] = []

    async def handler(call: Any) -> None:
        while True:
            found = orjson.loads(await call.request())
            answer = orjson.dumps({"failed": [found[0]["id"]] if len(found) > 1 else []})
            length = b"Content-Length: %d" % len(answer)
            await call.say(b"HTTP/1.1 207 Multi-Status\r\n%b\r\n\r\n%b" % (length, answer))

    async with serving(handler) as receiver:
        hook_id = harness.hook(receiver.url, options=NOW | {"retries": [0, 5], "concurrency": 1})
        guids = await waiting(harness, 6)
        await harness.work(real=True)
        await harness.over(delivered=5, waiting=1)
        await harness.pass_time(6)
        await harness.over(delivered=6)
        await harness.rest()
    sent = [[one["id"] for one in orjson.loads(body)] for body in receiver.bodies]
    assert sent == [guids, guids[:1]]
    assert [row["number"] for row in harness.attempts(hook_id) if row["guid"] == guids[0]] == [1, 2]
