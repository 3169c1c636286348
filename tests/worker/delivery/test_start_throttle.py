"""The limit of deliveries that start in one pass of the event loop."""

import asyncio

import pytest

from store import Store
from worker.delivery.admission import (
    CONTENDED_PAUSE,
    CONTENDED_SECONDS,
    CONTENDED_STARTS,
    CONTENDED_WRITES,
    COST,
    IDLE,
    MAX_STARTS,
    StartThrottle,
)


def begun_until_over(counted: StartThrottle) -> int:
    begun = 0
    while not counted.exhausted:
        counted.count()
        begun += 1
    return begun


async def test_more_is_begun_with_the_next_pass() -> None:
    again: list[int] = []
    counted = StartThrottle(lambda: 0, lambda: again.append(begun_until_over(counted)))
    assert begun_until_over(counted) == MAX_STARTS
    assert again == []
    for _ in range(3):
        await asyncio.sleep(0)
    assert again
    assert set(again) == {MAX_STARTS}


async def test_a_pass_below_the_limit_schedules_no_other() -> None:
    again: list[None] = []
    counted = StartThrottle(lambda: 0, lambda: again.append(None))
    counted.count()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not again
    assert begun_until_over(counted) == MAX_STARTS


async def test_while_a_crowd_waits_for_the_store_there_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    moment = loop.time()
    monkeypatch.setattr(loop, "time", lambda: moment)
    awaited = CONTENDED_WRITES
    again = asyncio.Event()
    # The busy time is the whole time, so the loop is never idle.
    counted = StartThrottle(lambda: awaited, again.set, busy_time=loop.time)
    assert begun_until_over(counted) == CONTENDED_STARTS
    for _ in range(10):
        await asyncio.sleep(0)
    assert counted.exhausted, "the pause lasts longer than several passes"
    moment += max(CONTENDED_PAUSE, CONTENDED_SECONDS)
    await again.wait()
    awaited = CONTENDED_WRITES - 1
    assert begun_until_over(counted) == MAX_STARTS, (
        "with fewer waiting writes, the full limit applies"
    )


async def test_the_idle_time_of_the_loop_is_used_under_contention() -> None:
    def share(idle: float) -> int:
        moment = asyncio.get_running_loop().time
        throttle = StartThrottle(
            lambda: CONTENDED_WRITES, lambda: None, busy_time=lambda: moment() * (1 - idle)
        )
        return begun_until_over(throttle)

    assert share(IDLE) == CONTENDED_STARTS
    half, all_of_it = share((1 + IDLE) / 2), share(1)
    assert CONTENDED_STARTS < half < all_of_it < MAX_STARTS
    assert all_of_it == CONTENDED_STARTS + round((1 - IDLE) * CONTENDED_PAUSE / COST)


async def test_the_store_counts_pending_writes(store: Store) -> None:
    assert store.pending_durable == 0
    writes = [asyncio.ensure_future(store.write(lambda db: None)) for _ in range(3)]
    notes = asyncio.ensure_future(store.write_relaxed(lambda db: None))
    await asyncio.sleep(0)
    # Writes to a database server do not compete with the deliveries of this process.
    assert store.pending_durable == (3 if store.engine.embedded else 0)
    await asyncio.gather(*writes, notes)
    assert store.pending_durable == 0
