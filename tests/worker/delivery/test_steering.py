"""Receivers that steer: they ask for a pause, stop one delivery, or disable their hook."""

import pytest
from house import House, Post, said, settle
from waiting import until

from store import Row
from worker.http.answer import ExchangeResult

HOUR = 3600
DISABLED = "the receiver answered webhook-delivery: disable"


def last_attempt(house: House, hook_id: int) -> Row:
    return house.attempts(hook_id)[-1]


def answers(house: House, *given: ExchangeResult) -> None:
    """Answer with each of these once, and then with 200."""
    left = [*given]
    house.network.script = lambda post: left.pop(0) if left else said()


async def held(house: House, status: int = 503, **hook: object) -> int:
    """A hook whose receiver has just asked for an hour's pause."""
    answers(house, said(status, head=b"Retry-After: 3600"))
    hook_id = house.hook(**hook)
    await house.work()
    await house.event()
    await house.recorded(hook_id, 1)
    return hook_id


@pytest.mark.parametrize("status", [413, 429, 500, 503])
async def test_retry_after_holds_all_deliveries_of_the_hook(house: House, status: int) -> None:
    hook_id = await held(house, status)
    other = house.hook()
    await house.events(3)
    await house.recorded(other, 3)
    await house.pass_time(HOUR - 1)
    assert len(house.attempts(hook_id)) == 1
    assert last_attempt(house, hook_id)["instruction"] == "retry-after=3600"
    assert house.hook_row(hook_id)["held_until"] == house.clock.now() + 1_000_000
    await house.pass_time(1)
    await house.over(delivered=7)


async def test_a_held_hook_is_woken_without_a_scan(house: House) -> None:
    answers(house, said(503, head=b"Retry-After: 1"))
    hook_id = house.hook(options={"retries": [0, 0.01]})
    worker = await house.work()
    await house.event()
    await house.recorded(hook_id, 1)
    assert worker.dispatcher.claimer.retry_timer.wakes_at is not None
    house.clock.advance(1)
    await house.over(delivered=1)


async def test_the_pause_survives_a_restart(house: House) -> None:
    hook_id = await held(house)
    house.crash()
    await house.work()
    await house.event()
    await settle()
    assert len(house.attempts(hook_id)) == 1
    assert house.leased() == []
    await house.pass_time(HOUR)
    await house.over(delivered=2)


@pytest.mark.parametrize(
    "change", [{"url": "https://another.example/hook"}, {"active": False}], ids=["url", "again"]
)
async def test_an_edit_of_the_endpoint_ends_the_pause(house: House, change: dict[str, str]) -> None:
    hook_id = await held(house)
    house.edit(hook_id, **change)
    if "active" in change:
        house.edit(hook_id, active=True)
    assert house.hook_row(hook_id)["held_until"] is None
    await house.event()
    # The worker reads within a few seconds which hooks were edited.
    await house.pass_time(5)
    await until(lambda: house.counts()["delivered"] >= 1)


async def test_another_edit_keeps_the_pause(house: House) -> None:
    hook_id = await held(house)
    house.edit(hook_id, content_type="form")
    await house.event()
    await house.pass_time(HOUR - 1)
    assert len(house.attempts(hook_id)) == 1
    await house.pass_time(1)
    await house.over(delivered=2)


async def test_a_receiver_that_asks_again_is_left_alone_again(house: House) -> None:
    hook_id = await held(house)
    answers(house, said(503, head=b"Retry-After: 7200"))
    await house.pass_time(HOUR)
    await house.recorded(hook_id, 2)
    await house.event()
    await house.pass_time(2 * HOUR - 1)
    assert len(house.attempts(hook_id)) == 2
    await house.pass_time(1)
    await house.over(delivered=2)


async def test_429_uses_up_no_retry(house: House) -> None:
    answers(house, *[said(429)] * 6, said(500))
    hook_id = house.hook(options={"retries": [0, 5], "breaker": 0})
    await house.work()
    await house.event()
    for number in range(1, 8):
        await house.recorded(hook_id, number)
        await house.pass_time(6)
    await house.over(delivered=1)
    rows = house.attempts(hook_id)
    assert [row["number"] for row in rows] == list(range(1, 9))
    assert [row["instruction"] for row in rows] == ["throttle"] * 6 + [None] * 2
    (delivery,) = house.deliveries()
    assert delivery["attempts"] == 8


async def test_abort_message_ends_one_delivery(house: House) -> None:
    answers(house, said(500, head=b"Webhook-Delivery: abort-message"))
    hook_id = house.hook()
    await house.work()
    await house.event()
    await house.over(dead=1)
    await house.event()
    await house.over(dead=1, delivered=1)
    assert house.hook_row(hook_id)["active"] == 1
    assert house.attempts(hook_id)[0]["instruction"] == "abort-message"


@pytest.mark.parametrize(("status", "state"), [(200, "delivered"), (500, "dead"), (429, "dead")])
async def test_disable_ends_the_hook(house: House, status: int, state: str) -> None:
    answers(house, said(status, head=b"webhook-delivery: disable"))
    hook_id = house.hook()
    await house.work()
    await house.event()
    await house.over(**{state: 1})
    await until(lambda: house.hook_row(hook_id)["active"] == 0)
    row = house.hook_row(hook_id)
    assert row["disabled_reason"] == DISABLED
    assert (row["failing_since"] is None) == (status == 200)
    assert last_attempt(house, hook_id)["instruction"] == "disable"
    await house.event()
    assert len(house.deliveries()) == 1


async def test_what_a_receiver_sends_that_is_no_instruction(house: House) -> None:
    def script(post: Post) -> ExchangeResult:
        return said(head=b"webhook-delivery: please\r\nX: webhook-delivery: disable")

    house.network.script = script
    hook_id = house.hook()
    await house.work()
    await house.events(3)
    await house.over(delivered=3)
    assert house.hook_row(hook_id)["active"] == 1
    assert last_attempt(house, hook_id)["instruction"] is None
