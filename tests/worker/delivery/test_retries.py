"""Retries until the end of a delivery, disabling of hooks, and edits of hooks in between."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from waiting import until
from worker_harness import PROMPT, Gate, Post, WorkerHarness, said

from store import Connection
from store.clock import SECOND
from store.delivery import deliveries, delivery_queries, hook_removal, outbox
from store.hook_state import hook_pauses, hook_retries
from store.hooks import hooks
from store.jobs import jobs
from worker.http.answer import ExchangeResult

DAY = 86_400
SCHEDULE = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]


def failing(post: Post) -> ExchangeResult:
    return said(503)


def succeeding(post: Post) -> ExchangeResult:
    return said()


async def one_failed(harness: WorkerHarness, **hook: object) -> int:
    """Create a hook, start a worker, and let one delivery fail once. Return the hook's id."""
    harness.network.script = failing
    hook_id = harness.hook(**hook)
    await harness.work()
    await harness.event()
    await harness.recorded(hook_id, 1)
    return hook_id


# The schedule.


async def test_all_ten_attempts_at_their_times(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness, options={"disable_after": 0})
    for number, delay in enumerate(SCHEDULE, 2):
        await harness.pass_time(delay - 1)
        assert len(harness.network.posts) == number - 1, (
            "no attempt is made a second before its time"
        )
        await harness.pass_time(1)
        await harness.recorded(hook_id, number)
    await harness.over(dead=1)
    rows = harness.attempts(hook_id)
    assert [row["number"] for row in rows] == list(range(1, 11))
    started = [row["started_at"] for row in rows]
    assert [(b - a) // SECOND for a, b in itertools.pairwise(started)] == SCHEDULE
    assert harness.deliveries()[0]["attempts"] == 10
    await harness.pass_time(30 * DAY)
    assert len(harness.network.posts) == 10


async def test_a_retry_that_succeeds_is_the_end(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    harness.network.script = succeeding
    await harness.pass_time(5)
    await harness.over(delivered=1)
    assert [row["status_code"] for row in harness.attempts(hook_id)] == [503, 200]
    await harness.pass_time(DAY)
    assert len(harness.network.posts) == 2


async def test_retry_after_postpones(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(429, head=b"Retry-After: 3600")
    hook_id = harness.hook()
    await harness.work()
    await harness.event()
    await harness.recorded(hook_id, 1)
    await harness.pass_time(3599)
    assert len(harness.network.posts) == 1
    await harness.pass_time(1)
    await harness.recorded(hook_id, 2)


async def test_a_retry_after_that_overflows_does_not_stop_the_hook(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(
        503, head=b"Retry-After: Wed, 21 Oct 99999999999999999999 07:28:00 GMT"
    )
    hook_id = harness.hook()
    await harness.work()
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["error"] is None
    await harness.pass_time(5)
    await harness.recorded(hook_id, 2)


async def test_the_schedule_of_a_hook_is_followed(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness, options={"retries": [0, 60]})
    await harness.pass_time(60)
    await harness.recorded(hook_id, 2)
    await harness.over(dead=1)


async def test_a_timer_rings_without_a_scan(harness: WorkerHarness) -> None:
    # The test calls no scan, so only the retry timer can start the retries.
    hook_id = await one_failed(harness, options={"retries": [0, 0.02, 0.02, 0.02]})
    for number in (2, 3, 4):
        harness.clock.advance(0.02)
        await harness.recorded(hook_id, number)
    await harness.over(dead=1)


async def test_one_event_fails_and_the_next_succeeds(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    harness.network.script = succeeding
    await harness.event()
    await harness.over(waiting=1, delivered=1)
    await harness.pass_time(5)
    await harness.over(delivered=2)
    assert harness.hook_row(hook_id)["failing_since"] is None


# Disabling.


async def test_410_disables_the_hook(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.network.script = lambda post: said(410)
    hook_id = harness.hook()
    await harness.work()
    await harness.event()
    await harness.over(dead=1)
    row = harness.hook_row(hook_id)
    assert not row["active"]
    assert row["disabled_reason"] == "the receiver answered 410 Gone"
    await until(lambda: "hook 1 was disabled" in caplog.text)
    receipt = await harness.event()
    assert receipt.deliveries == 0


async def test_failing_for_five_days_disables(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    assert harness.hook_row(hook_id)["failing_since"] == harness.clock.now()
    await harness.advance(5 * DAY - 1)
    await harness.event()
    await harness.recorded(hook_id, 2)
    assert harness.hook_row(hook_id)["active"]
    await harness.advance(1)
    await harness.event()
    await until(lambda: not harness.hook_row(hook_id)["active"])
    row = harness.hook_row(hook_id)
    assert row["disabled_reason"] == "every delivery failed for 5 days; the last: status 503"


async def test_a_success_between_starts_the_five_days_anew(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    await harness.advance(4 * DAY)
    harness.network.script = succeeding
    await harness.event()
    await until(lambda: harness.hook_row(hook_id)["failing_since"] is None)
    harness.network.script = failing
    await harness.advance(2 * DAY)
    await harness.event()
    await until(lambda: harness.hook_row(hook_id)["failing_since"] == harness.clock.now())
    assert harness.hook_row(hook_id)["active"]


@pytest.mark.parametrize("paused", [False, True])
async def test_the_time_without_a_worker_is_not_time_of_failing(
    harness: WorkerHarness, paused: bool
) -> None:
    hook_id = await one_failed(harness)
    await until(lambda: harness.store.read_sync(jobs.last_end) is not None)
    await harness.rest()
    if paused:
        harness.store.write_sync(hook_pauses.pause, harness.hook_row(hook_id))
    harness.clock.advance(5 * DAY)
    await harness.work()
    if paused:
        harness.store.write_sync(hook_pauses.resume, harness.hook_row(hook_id))
    await harness.recorded(hook_id, 2)
    row = harness.hook_row(hook_id)
    assert row["active"]
    assert row["failing_since"] == harness.clock.now()


@pytest.mark.parametrize(("disable_after", "active"), [(60, False), (0, True)])
async def test_an_option_sets_the_time_until_a_hook_is_disabled(
    harness: WorkerHarness, disable_after: float, active: bool
) -> None:
    hook_id = await one_failed(harness, options={"disable_after": disable_after})
    await harness.advance(400 * DAY)
    await harness.event()
    await harness.recorded(hook_id, 2)
    assert bool(harness.hook_row(hook_id)["active"]) is active


async def test_deliveries_of_a_disabled_hook_are_dead_with_a_reason(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    harness.network.script = lambda post: said(410)
    await harness.event()
    await harness.over(waiting=1, dead=1)
    await harness.pass_time(5)
    await harness.over(dead=2)
    assert harness.deliveries()[0]["reason"] == "the hook is not active"
    assert len(harness.attempts(hook_id)) == 2


async def test_a_hook_that_is_activated_again_works(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(410)
    hook_id = harness.hook()
    await harness.work()
    await harness.event()
    await harness.over(dead=1)
    harness.network.script = succeeding
    harness.edit(hook_id, active=True)
    row = harness.hook_row(hook_id)
    assert (row["active"], row["disabled_reason"], row["failing_since"]) == (1, None, None)
    await harness.event()
    await harness.over(dead=1, delivered=1)


async def test_activated_before_they_are_due_the_waiting_are_delivered(
    harness: WorkerHarness,
) -> None:
    hook_id = await one_failed(harness)
    harness.edit(hook_id, active=False)
    harness.edit(hook_id, active=True)
    harness.network.script = succeeding
    await harness.pass_time(5)
    await harness.over(delivered=1)


async def test_a_redelivery_goes_to_a_hook_that_is_not_active(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(410)
    hook_id = harness.hook()
    await harness.work()
    receipt = await harness.event()
    await harness.over(dead=1)
    harness.network.script = succeeding
    harness.store.write_sync(deliveries.redeliver, receipt.event_id, hook_id, harness.repo["id"])
    await harness.over(dead=1, delivered=1)


# Hooks that change.


async def test_new_and_waiting_deliveries_use_the_edited_hook(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness, secret="old")
    harness.edit(
        hook_id, secret="new", url="https://moved.example/x", content_type="form", insecure_ssl=True
    )
    harness.network.script = succeeding
    await harness.event(guid="next")
    await harness.pass_time(5)
    await harness.over(delivered=2)
    first, *later = harness.network.posts
    assert first.host == "h1.example"
    assert first.headers["content-type"] == "application/json"
    assert len(later) == 2
    for post in later:
        assert post.host == "moved.example"
        assert post.body.startswith(b"payload=")
        assert not post.verify_tls
        assert post.headers["x-hub-signature-256"] != first.headers["x-hub-signature-256"]
    assert [row["url"] for row in harness.attempts(hook_id)][1:] == ["https://moved.example/x"] * 2


async def test_a_removed_secret_signs_no_more(harness: WorkerHarness) -> None:
    hook_id = harness.hook(secret="old")
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    harness.edit(hook_id, secret=None)
    await harness.event()
    await harness.over(delivered=2)
    signed = ["x-hub-signature-256" in post.headers for post in harness.network.posts]
    assert signed == [True, False]


async def test_claimed_deliveries_use_the_edited_hook(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook(options={"concurrency": 2})
    await harness.work()
    await harness.events(20)
    await until(lambda: harness.network.in_flight["h1.example"] == 2)
    harness.edit(hook_id, url="https://moved.example/x")
    gate.opened.set()
    await harness.over(delivered=20)
    assert len(harness.network.to("h1.example")) == 2
    assert len(harness.network.to("moved.example")) == 18


async def test_claimed_deliveries_of_a_deleted_hook_are_dead(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook(options={"concurrency": 2})
    await harness.work()
    await harness.events(20)
    await until(lambda: harness.network.in_flight["h1.example"] == 2)
    harness.store.write_sync(lambda db: hook_removal.delete(db, harness.hook_row(hook_id)))
    gate.opened.set()
    await harness.over(delivered=2, dead=18)
    assert {row["reason"] for row in harness.deliveries(state="dead")} == {"the hook was deleted"}


async def test_a_deleted_hook_gets_its_meta_event_and_the_rest_die(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness, events=["push", "meta"])

    def delete(db: Connection) -> None:
        row = hooks.by_id(db, hook_id)
        assert row is not None
        repo_id = harness.repo["id"]
        outbox.emit(db, "meta", "deleted", repo_id, {"hook_id": hook_id}, only_hook=hook_id)
        hook_removal.delete(db, row)

    harness.network.script = succeeding
    harness.store.write_sync(delete)
    await harness.over(waiting=1, delivered=1)
    assert harness.network.posts[-1].headers["x-github-event"] == "meta"
    assert b'"action":"deleted"' in harness.network.posts[-1].body
    await harness.pass_time(5)
    await harness.over(delivered=1, dead=1)
    assert harness.deliveries(state="dead")[0]["reason"] == "the hook was deleted"
    receipt = await harness.event()
    assert receipt.deliveries == 0


async def test_a_ping_reaches_a_hook_that_is_not_active(harness: WorkerHarness) -> None:
    hook_id = harness.hook(active=False)
    await harness.work()
    harness.store.write_sync(
        outbox.emit, "ping", None, harness.repo["id"], {"zen": "."}, only_hook=hook_id
    )
    await harness.over(delivered=1)
    assert harness.network.posts[0].headers["x-github-event"] == "ping"


async def test_deliveries_without_a_hook_are_dead(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    harness.store.write_sync(lambda db: db.execute("DELETE FROM hook WHERE id = :id", id=hook_id))
    await harness.pass_time(5)
    await harness.over(dead=1)
    assert deliveries_reason(harness) == "the hook is gone"


async def test_deliveries_without_a_body_are_dead(harness: WorkerHarness) -> None:
    hook_id = await one_failed(harness)
    await harness.rest()
    harness.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
    await harness.work()
    await harness.pass_time(5)
    await harness.over(dead=1)
    assert deliveries_reason(harness) == "the payload is no longer kept"
    assert len(harness.attempts(hook_id)) == 1


def deliveries_reason(harness: WorkerHarness) -> str:
    (row,) = harness.store.read_sync(delivery_queries.page, limit=10)
    return str(row["reason"])


# A retry that a person asks for.

LASTING = replace(PROMPT, first_cooldown=10_000.0, max_cooldown=20_000.0)
FAILURES: dict[str, Callable[[Post], ExchangeResult]] = {
    "an open breaker": failing,
    "a pause that the receiver asked for": lambda post: said(503, head=b"Retry-After: 5000"),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_repaired_receiver_gets_pending_deliveries_at_once(
    harness: WorkerHarness, failure: str
) -> None:
    harness.tuning = LASTING
    harness.network.script = FAILURES[failure]
    hook_id = harness.hook(options={"breaker": 1, "retries": [0, 3600], "concurrency": 1})
    await harness.work()
    await harness.events(3)
    await until(lambda: harness.network.posts)
    await until(lambda: not harness.leased())
    await harness.pass_time(harness.tuning.poll_interval)
    assert len(harness.network.posts) == 1
    harness.network.script = succeeding
    harness.store.write_sync(
        lambda db: hook_retries.retry_now(db, hooks.by_id(db, hook_id))  # type: ignore[arg-type]
    )
    await harness.pass_time(harness.tuning.poll_interval)
    await until(lambda: harness.states(hook_id) == {"delivered": 3})
