"""The job that continues replays: it delivers all their events, and keeps to the rate."""

from typing import Any

import pytest
from waiting import until
from worker_harness import WorkerHarness

from store import Connection, Row
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Busy, Unavailable
from worker.jobs.replay import replay
from worker.settings import WorkerSettings


def ask(harness: WorkerHarness, **given: Any) -> Any:
    return harness.store.write_sync(replay_runs.create, ReplaySelection(**given), "ada")


def run_of(harness: WorkerHarness, run_id: int) -> Any:
    return harness.store.read_sync(replay_runs.get, run_id)


async def test_a_replay_delivers_its_events(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.events(5)
    await harness.work()
    await harness.over(delivered=5)
    run = ask(harness)
    await harness.over(delivered=10)
    await until(lambda: run_of(harness, run["id"])["outcome"] == "done")
    assert run_of(harness, run["id"])["made"] == 5


async def test_a_replay_from_before_the_start_is_continued(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.events(3)
    run = ask(harness)
    harness.store.write_sync(replay_runs.run_step, run, 1)
    await harness.work()
    await harness.over(delivered=6)
    await until(lambda: run_of(harness, run["id"])["made"] == 3)


async def test_no_faster_than_it_may_and_not_once_cancelled(harness: WorkerHarness) -> None:
    harness.hook()
    await harness.events(20)
    run = ask(harness)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            harness.store.write_sync(replay_runs.cancel, run["id"])

    # The clock stands still, and sleeps take no time.
    await replay(harness.store, WorkerSettings(replay_rate=10), clock=lambda: 0.0, sleep=sleep)
    # Each batch has the deliveries of a quarter of a second. The sleeps grow, because the clock
    # does not move.
    assert run_of(harness, run["id"])["made"] == 6
    assert [round(seconds, 1) for seconds in slept] == [0.2, 0.4, 0.6]


async def no_sleep(seconds: float) -> None:
    pass


async def test_a_step_that_cannot_be_made_blocks_no_other_replay(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.hook()
    await harness.events(3)
    bad, good = ask(harness), ask(harness)
    real, tried = replay_runs.run_step, 0
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        if run_of(harness, bad["id"])["outcome"] is None:
            slept.append(seconds)

    def step(db: Connection, run: Row, limit: int) -> Any:
        nonlocal tried
        if run["id"] == bad["id"]:
            tried += 1
            raise ValueError("a mistake")
        return real(db, run, limit)

    monkeypatch.setattr(replay_runs, "run_step", step)
    await replay(harness.store, WorkerSettings(), sleep=sleep)
    outcomes = [run_of(harness, run["id"])["outcome"] for run in (bad, good)]
    # The good replay does not wait after the last try of the bad one.
    assert (outcomes, tried, slept) == (["failed", "done"], 3, [1, 2])


@pytest.mark.parametrize("error", [Busy, Unavailable])
async def test_a_replay_waits_for_the_store(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    harness.hook()
    await harness.events(3)
    run = ask(harness)

    def step(*_: Any) -> None:
        raise error("later")

    with monkeypatch.context() as patched:
        patched.setattr(replay_runs, "run_step", step)
        with pytest.raises(error):
            await replay(harness.store, WorkerSettings(), sleep=no_sleep)
    await replay(harness.store, WorkerSettings(), sleep=no_sleep)
    assert run_of(harness, run["id"])["outcome"] == "done"
