"""From the first failure to the end: retries, disabling, and hooks that change meanwhile."""

import itertools

import pytest
from house import Gate, House, Post, said
from waiting import until

from store import Connection
from store.clock import SECOND
from store.delivery import deliveries, outbox
from store.hooks import hooks
from worker.http.answer import ExchangeResult

DAY = 86_400
SCHEDULE = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]


def failing(post: Post) -> ExchangeResult:
    return said(503)


def succeeding(post: Post) -> ExchangeResult:
    return said()


async def one_failed(house: House, **hook: object) -> int:
    """A hook with one delivery that failed once."""
    house.network.script = failing
    hook_id = house.hook(**hook)
    await house.work()
    await house.event()
    await house.recorded(hook_id, 1)
    return hook_id


# The schedule.


async def test_all_ten_attempts_at_their_times(house: House) -> None:
    hook_id = await one_failed(house, options={"disable_after": 0})
    for number, delay in enumerate(SCHEDULE, 2):
        await house.pass_time(delay - 1)
        assert len(house.network.posts) == number - 1, "a second too early"
        await house.pass_time(1)
        await house.recorded(hook_id, number)
    await house.over(dead=1)
    rows = house.attempts(hook_id)
    assert [row["number"] for row in rows] == list(range(1, 11))
    started = [row["started_at"] for row in rows]
    assert [(b - a) // SECOND for a, b in itertools.pairwise(started)] == SCHEDULE
    assert house.deliveries()[0]["attempts"] == 10
    await house.pass_time(30 * DAY)
    assert len(house.network.posts) == 10


async def test_a_retry_that_succeeds_is_the_end(house: House) -> None:
    hook_id = await one_failed(house)
    house.network.script = succeeding
    await house.pass_time(5)
    await house.over(delivered=1)
    assert [row["status_code"] for row in house.attempts(hook_id)] == [503, 200]
    await house.pass_time(DAY)
    assert len(house.network.posts) == 2


async def test_retry_after_postpones(house: House) -> None:
    house.network.script = lambda post: said(429, head=b"Retry-After: 3600")
    hook_id = house.hook()
    await house.work()
    await house.event()
    await house.recorded(hook_id, 1)
    await house.pass_time(3599)
    assert len(house.network.posts) == 1
    await house.pass_time(1)
    await house.recorded(hook_id, 2)


async def test_a_retry_after_that_overflows_does_not_stop_the_hook(house: House) -> None:
    house.network.script = lambda post: said(
        503, head=b"Retry-After: Wed, 21 Oct 99999999999999999999 07:28:00 GMT"
    )
    hook_id = house.hook()
    await house.work()
    await house.event()
    (row,) = await house.recorded(hook_id, 1)
    assert row["error"] is None
    await house.pass_time(5)
    await house.recorded(hook_id, 2)


async def test_the_schedule_of_a_hook(house: House) -> None:
    hook_id = await one_failed(house, options={"retries": [0, 60]})
    await house.pass_time(60)
    await house.recorded(hook_id, 2)
    await house.over(dead=1)


async def test_a_timer_rings_without_a_scan(house: House) -> None:
    # With a clock that moves by itself nothing but the agenda's own timer is needed.
    hook_id = await one_failed(house, options={"retries": [0, 0.02, 0.02, 0.02]})
    for number in (2, 3, 4):
        house.clock.advance(0.02)
        await house.recorded(hook_id, number)
    await house.over(dead=1)


async def test_one_event_fails_and_the_next_succeeds(house: House) -> None:
    hook_id = await one_failed(house)
    house.network.script = succeeding
    await house.event()
    await house.over(waiting=1, delivered=1)
    await house.pass_time(5)
    await house.over(delivered=2)
    assert house.hook_row(hook_id)["failing_since"] is None


# Disabling.


async def test_410_disables_the_hook(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.network.script = lambda post: said(410)
    hook_id = house.hook()
    await house.work()
    await house.event()
    await house.over(dead=1)
    row = house.hook_row(hook_id)
    assert not row["active"]
    assert row["disabled_reason"] == "the receiver answered 410 Gone"
    await until(lambda: "hook 1 was disabled" in caplog.text)
    receipt = await house.event()
    assert receipt.deliveries == 0


async def test_failing_for_five_days_disables(house: House) -> None:
    hook_id = await one_failed(house)
    assert house.hook_row(hook_id)["failing_since"] == house.clock.now()
    await house.advance(5 * DAY - 1)
    await house.event()
    await house.recorded(hook_id, 2)
    assert house.hook_row(hook_id)["active"]
    await house.advance(1)
    await house.event()
    await until(lambda: not house.hook_row(hook_id)["active"])
    row = house.hook_row(hook_id)
    assert row["disabled_reason"] == "every delivery failed for 5 days; the last: status 503"


async def test_a_success_between_starts_the_five_days_anew(house: House) -> None:
    hook_id = await one_failed(house)
    await house.advance(4 * DAY)
    house.network.script = succeeding
    await house.event()
    await until(lambda: house.hook_row(hook_id)["failing_since"] is None)
    house.network.script = failing
    await house.advance(2 * DAY)
    await house.event()
    await until(lambda: house.hook_row(hook_id)["failing_since"] == house.clock.now())
    assert house.hook_row(hook_id)["active"]


@pytest.mark.parametrize(("disable_after", "active"), [(60, False), (0, True)])
async def test_how_long_is_the_hooks_option(
    house: House, disable_after: float, active: bool
) -> None:
    hook_id = await one_failed(house, options={"disable_after": disable_after})
    await house.advance(400 * DAY)
    await house.event()
    await house.recorded(hook_id, 2)
    assert bool(house.hook_row(hook_id)["active"]) is active


async def test_what_waits_for_a_disabled_hook_dies_with_a_reason(house: House) -> None:
    hook_id = await one_failed(house)
    house.network.script = lambda post: said(410)
    await house.event()
    await house.over(waiting=1, dead=1)
    await house.pass_time(5)
    await house.over(dead=2)
    assert house.deliveries()[0]["reason"] == "the hook is not active"
    assert len(house.attempts(hook_id)) == 2


async def test_a_hook_that_is_activated_again_works(house: House) -> None:
    house.network.script = lambda post: said(410)
    hook_id = house.hook()
    await house.work()
    await house.event()
    await house.over(dead=1)
    house.network.script = succeeding
    house.edit(hook_id, active=True)
    row = house.hook_row(hook_id)
    assert (row["active"], row["disabled_reason"], row["failing_since"]) == (1, None, None)
    await house.event()
    await house.over(dead=1, delivered=1)


async def test_activated_before_they_are_due_the_waiting_are_delivered(house: House) -> None:
    hook_id = await one_failed(house)
    house.edit(hook_id, active=False)
    house.edit(hook_id, active=True)
    house.network.script = succeeding
    await house.pass_time(5)
    await house.over(delivered=1)


async def test_a_redelivery_goes_to_a_hook_that_is_not_active(house: House) -> None:
    house.network.script = lambda post: said(410)
    hook_id = house.hook()
    await house.work()
    receipt = await house.event()
    await house.over(dead=1)
    house.network.script = succeeding
    house.store.do(deliveries.redeliver, receipt.event_id, hook_id, house.repo["id"])
    await house.over(dead=1, delivered=1)


# Hooks that change.


async def test_the_next_event_and_what_waits_use_the_edited_hook(house: House) -> None:
    hook_id = await one_failed(house, secret="old")
    house.edit(
        hook_id, secret="new", url="https://moved.example/x", content_type="form", insecure_ssl=True
    )
    house.network.script = succeeding
    await house.event(guid="next")
    await house.pass_time(5)
    await house.over(delivered=2)
    first, *later = house.network.posts
    assert first.host == "h1.example"
    assert first.headers["content-type"] == "application/json"
    assert len(later) == 2
    for post in later:
        assert post.host == "moved.example"
        assert post.body.startswith(b"payload=")
        assert not post.verify_tls
        assert post.headers["x-hub-signature-256"] != first.headers["x-hub-signature-256"]
    assert [row["url"] for row in house.attempts(hook_id)][1:] == ["https://moved.example/x"] * 2


async def test_a_secret_that_is_taken_away(house: House) -> None:
    hook_id = house.hook(secret="old")
    await house.work()
    await house.event()
    await house.over(delivered=1)
    house.edit(hook_id, secret=None)
    await house.event()
    await house.over(delivered=2)
    signed = ["x-hub-signature-256" in post.headers for post in house.network.posts]
    assert signed == [True, False]


async def test_what_is_in_hand_already_uses_the_edited_hook(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook(options={"concurrency": 2})
    await house.work()
    await house.events(20)
    await until(lambda: house.network.in_flight["h1.example"] == 2)
    house.edit(hook_id, url="https://moved.example/x")
    gate.opened.set()
    await house.over(delivered=20)
    assert len(house.network.to("h1.example")) == 2
    assert len(house.network.to("moved.example")) == 18


async def test_what_is_in_hand_for_a_hook_that_is_deleted_dies(house: House) -> None:
    gate = house.network.script = Gate(["h1.example"])
    hook_id = house.hook(options={"concurrency": 2})
    await house.work()
    await house.events(20)
    await until(lambda: house.network.in_flight["h1.example"] == 2)
    house.store.do(lambda db: hooks.delete(db, house.hook_row(hook_id)))
    gate.opened.set()
    await house.over(delivered=2, dead=18)
    assert {row["reason"] for row in house.deliveries(state="dead")} == {"the hook was deleted"}


async def test_of_a_deleted_hook_meta_goes_out_and_the_others_die(house: House) -> None:
    hook_id = await one_failed(house, events=["push", "meta"])

    def delete(db: Connection) -> None:
        row = hooks.by_id(db, hook_id)
        assert row is not None
        repo_id = house.repo["id"]
        outbox.emit(db, "meta", "deleted", repo_id, {"hook_id": hook_id}, only_hook=hook_id)
        hooks.delete(db, row)

    house.network.script = succeeding
    house.store.do(delete)
    await house.over(waiting=1, delivered=1)
    assert house.network.posts[-1].headers["x-github-event"] == "meta"
    assert b'"action":"deleted"' in house.network.posts[-1].body
    await house.pass_time(5)
    await house.over(delivered=1, dead=1)
    assert house.deliveries(state="dead")[0]["reason"] == "the hook was deleted"
    receipt = await house.event()
    assert receipt.deliveries == 0


async def test_a_ping_reaches_a_hook_that_is_not_active(house: House) -> None:
    hook_id = house.hook(active=False)
    await house.work()
    house.store.do(outbox.emit, "ping", None, house.repo["id"], {"zen": "."}, only_hook=hook_id)
    await house.over(delivered=1)
    assert house.network.posts[0].headers["x-github-event"] == "ping"


async def test_what_waits_for_a_hook_that_is_gone_dies(house: House) -> None:
    hook_id = await one_failed(house)
    house.store.do(lambda db: db.execute("DELETE FROM hook WHERE id = :id", id=hook_id))
    await house.pass_time(5)
    await house.over(dead=1)
    assert deliveries_reason(house) == "the hook is gone"


async def test_what_has_lost_its_body_dies(house: House) -> None:
    hook_id = await one_failed(house)
    await house.rest()
    house.store.do(lambda db: db.execute("UPDATE event SET body = NULL"))
    await house.work()
    await house.pass_time(5)
    await house.over(dead=1)
    assert deliveries_reason(house) == "the payload is no longer kept"
    assert len(house.attempts(hook_id)) == 1


def deliveries_reason(house: House) -> str:
    (row,) = house.store.look(deliveries.page, limit=10)
    return str(row["reason"])
