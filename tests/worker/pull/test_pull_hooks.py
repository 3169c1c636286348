"""A worker beside pull hooks: it sends them nothing, wakes waiting receivers, and tidies up."""

import asyncio
from contextlib import ExitStack
from typing import Any

import orjson
import pytest
from waiting import PATIENCE, until
from worker_harness import WorkerHarness, settle

from store import Row, Store
from store.clock import DAY
from store.database.wakeups import MOST_WAITERS, Waiter
from store.delivery import deliveries, hook_removal
from store.errors import Busy, Invalid
from store.hooks import hook_queries, hooks
from store.hooks.hook_targets import SYSTEM
from store.pull import idle_hooks, pull_leases
from store.pull.fetching import Acknowledgement, Fetch, FetchedDelivery, Rejection
from worker.jobs.lapse import lapse, next_due
from worker.jobs.prune import prune
from worker.pull.fetch_queue import FetchQueue
from worker.scheduler.job_runner import ScheduledJob
from worker.service import Worker
from worker.settings import WorkerSettings

SETTINGS = WorkerSettings(retries=[0, 60], jitter=0)
YEAR = 365 * 24 * 3600


def fetch(harness: WorkerHarness, hook_id: int, batch: int = 10) -> list[FetchedDelivery]:
    return harness.store.write_sync(
        FetchQueue(SETTINGS).fetch, row_of(harness, hook_id), Fetch("tests", batch)
    )


def answer(harness: WorkerHarness, hook_id: int, *fetched: FetchedDelivery) -> None:
    answers = [Acknowledgement(one.lease_id) for one in fetched]
    harness.store.write_sync(FetchQueue(SETTINGS).acknowledge, row_of(harness, hook_id), answers)


def row_of(harness: WorkerHarness, hook_id: int) -> Row:
    found = harness.store.read_sync(hooks.by_id, hook_id)
    assert found is not None
    return found


def job_of(worker: Worker, name: str) -> ScheduledJob:
    (job,) = [one for one in worker.jobs.table if one.name == name]
    return job


async def heard(waiter: Waiter) -> None:
    async with asyncio.timeout(PATIENCE):
        await waiter.wait()


async def test_a_worker_sends_nothing_to_a_pull_hook(harness: WorkerHarness) -> None:
    pulled, pushed = harness.hook("pull:ci"), harness.hook()
    await harness.work()
    await harness.events(3)
    await until(lambda: harness.states(pushed) == {"delivered": 3})
    await settle()
    assert harness.states(pulled) == {"waiting": 3}
    fetched = fetch(harness, pulled)
    assert len(fetched) == 3
    answer(harness, pulled, *fetched)
    assert all("pull:" not in post.endpoint.authority for post in harness.network.posts)


async def test_a_hook_that_begins_to_pull_gets_waiting_deliveries(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    await harness.event()
    harness.edit(hook_id, url="pull:ci")
    await harness.work()
    await settle()
    assert harness.states(hook_id) == {"waiting": 1}
    answer(harness, hook_id, *fetch(harness, hook_id))
    assert harness.states(hook_id) == {"delivered": 1}


async def test_leases_of_a_fast_clock_expire_after_pruning(harness: WorkerHarness) -> None:
    hook_id = harness.hook("pull:ci")
    await harness.events(4)
    harness.clock.advance(YEAR)
    fast = fetch(harness, hook_id, 3)
    harness.clock.advance(-YEAR)
    fetch(harness, hook_id, 1)
    await prune(harness.store, SETTINGS, batch=2, pause=0)
    await lapse(harness.store, SETTINGS, 0)
    harness.clock.advance(SETTINGS.retries[1])
    again = fetch(harness, hook_id)
    assert {one.delivery_id for one in again} == {one.delivery_id for one in fast}


async def test_deliveries_of_a_deleted_hook_are_dead(harness: WorkerHarness) -> None:
    hook_id = harness.hook("pull:ci")
    await harness.events(2)
    (leased,) = fetch(harness, hook_id, 1)
    harness.store.write_sync(hook_removal.delete, row_of(harness, hook_id))
    await harness.work()
    await until(lambda: harness.states(hook_id) == {"waiting": 1, "dead": 1})
    harness.clock.advance(61)
    await lapse(harness.store, SETTINGS, 0)
    assert harness.states(hook_id) == {"dead": 2}
    (row,) = [one for one in harness.deliveries() if one["id"] == leased.delivery_id]
    assert row["reason"] == "the hook was deleted"


async def test_deliveries_of_an_inactive_hook_are_dead_once_fetched(
    harness: WorkerHarness,
) -> None:
    hook_id = harness.hook("pull:ci")
    await harness.event()
    harness.edit(hook_id, active=False)
    assert fetch(harness, hook_id) == []
    assert harness.states(hook_id) == {"dead": 1}


async def test_the_job_ends_leases_that_expire(harness: WorkerHarness) -> None:
    hook_id = harness.hook("pull:ci")
    await harness.events(2)
    first, _ = fetch(harness, hook_id)
    due = harness.store.read_sync(next_due, 0)
    assert due == first.expires_at
    await lapse(harness.store, SETTINGS, 0)
    assert harness.attempts(hook_id) == []
    harness.clock.advance(61)
    await lapse(harness.store, SETTINGS, 0)
    assert [row["error"] for row in harness.attempts(hook_id)] == [
        "lease: it expired before an answer"
    ] * 2
    assert harness.store.read_sync(next_due, 0) is None
    harness.clock.advance(61)
    harness.clock.advance(SETTINGS.retries[1])
    again = fetch(harness, hook_id)
    assert [one.number for one in again] == [2, 2]
    answer(harness, hook_id, *again)
    assert harness.states(hook_id) == {"delivered": 2}


async def test_ended_leases_are_forgotten(harness: WorkerHarness) -> None:
    hook_id = harness.hook("pull:ci")
    await harness.event()
    (one,) = fetch(harness, hook_id)
    now = harness.store.clock.now()
    assert harness.store.write_sync(pull_leases.drop_ended, now + DAY, 10) == 0
    answer(harness, hook_id, one)
    assert harness.store.write_sync(pull_leases.drop_ended, now + DAY, 10) == 1


async def test_an_idle_hook_is_removed(harness: WorkerHarness) -> None:
    idle = harness.hook("pull:idle", options={"expire_idle": 60})
    used = harness.hook("pull:used", options={"expire_idle": 60})
    kept = harness.hook("pull:kept")
    harness.clock.advance(40)
    fetch(harness, used)
    harness.clock.advance(30)
    assert harness.store.write_sync(idle_hooks.remove, 0) == [idle]
    assert [row["id"] for row in harness.store.read_sync(hook_queries.every)] == [used, kept]
    assert harness.store.read_sync(next_due, 0) == harness.store.clock.now() + 30 * 1_000_000


async def test_a_hook_is_not_idle_while_no_worker_runs(harness: WorkerHarness) -> None:
    """A hub that was off for a time let no program fetch. Nothing is lost at its next start."""
    hook_id = harness.hook("pull:ci", options={"expire_idle": 3600})
    await harness.event()
    harness.clock.advance(2 * 3600)
    worker = await harness.work()
    await job_of(worker, "lapse").run()
    assert harness.states(hook_id) == {"waiting": 1}
    await harness.advance(3600)
    worker.change(SETTINGS)
    await job_of(worker, "lapse").run()
    assert row_of(harness, hook_id)["deleted_at"] is not None


async def test_restarts_do_not_keep_an_idle_hook(harness: WorkerHarness) -> None:
    """A worker may restart more often than a hook expires."""
    hook_id = harness.hook("pull:ci", options={"expire_idle": 20 * 86_400})
    for _ in range(3):
        worker = await harness.work()
        await harness.advance(7 * 86_400)
        assert row_of(harness, hook_id)["deleted_at"] is None
        await job_of(worker, "lapse").run()
        await harness.rest()
    assert row_of(harness, hook_id)["deleted_at"] is not None


async def test_waiters_are_woken_by_this_process(harness: WorkerHarness) -> None:
    hook_id, other = harness.hook("pull:ci"), harness.hook("pull:other")
    await harness.work()
    with (
        harness.store.wakeups.waiting(hook_id) as waiter,
        harness.store.wakeups.waiting(other + 1) as deaf,
    ):
        await harness.event()
        await heard(waiter)
        quiet = asyncio.create_task(deaf.wait())
        await settle()
        assert not quiet.done()
        quiet.cancel()


async def test_waiters_are_woken_by_other_processes(harness: WorkerHarness) -> None:
    """A process wakes a waiter in another process, first without a worker and then with one."""
    hook_id = harness.hook("pull:ci")
    hub = harness.another_store()
    await hub.listen_for_waiters()
    with hub.wakeups.waiting(hook_id) as waiter:
        await harness.event()
        await heard(waiter)
        await harness.work()
        event_id = harness.deliveries()[0]["event_id"]
        await redeliver(harness.store, event_id, hook_id)
        await heard(waiter)
    await hub.close()


async def test_only_the_pull_hooks_of_an_event_are_announced(harness: WorkerHarness) -> None:
    """An announcement of other hooks would cost a read of the store for each burst of events."""
    harness.hook()
    hook_id = harness.hook("pull:ci")
    announced: list[int] = []
    harness.store.wakeups.forward = announced.extend
    await harness.event()
    assert {row["hook_id"] for row in harness.deliveries()} > {hook_id}
    assert announced == [hook_id]


@pytest.mark.parametrize("limit", [{"concurrency": 2}, {}])
@pytest.mark.parametrize("dead", [False, True])
async def test_an_answer_that_makes_room_is_announced(
    harness: WorkerHarness, limit: dict[str, Any], dead: bool
) -> None:
    """A receiver may wait for room. Without a limit that is reached, nothing has changed for it."""
    hook_id = harness.hook("pull:ci", options=limit)
    await harness.events(3)
    first, second = fetch(harness, hook_id, 2)
    announced: list[int] = []
    harness.store.wakeups.forward = announced.extend
    if dead:
        refused = [Rejection(first.lease_id, "no", dead=True)]
        harness.store.write_sync(FetchQueue(SETTINGS).reject, row_of(harness, hook_id), refused)
    else:
        answer(harness, hook_id, first)
    assert announced == ([hook_id] if limit else [])
    announced.clear()
    answer(harness, hook_id, second)
    assert announced == []


async def redeliver(store: Store, event_id: int, hook_id: int) -> None:
    await store.write(deliveries.redeliver, event_id, hook_id, 1)


async def test_waiters_are_limited(harness: WorkerHarness) -> None:
    with ExitStack() as stack:
        for _ in range(MOST_WAITERS):
            stack.enter_context(harness.store.wakeups.waiting(1))
        with pytest.raises(Busy), harness.store.wakeups.waiting(1):
            pass
        with harness.store.wakeups.waiting(2):
            pass
    with harness.store.wakeups.waiting(1):
        pass


async def test_no_hook_of_the_whole_installation_pulls(harness: WorkerHarness) -> None:
    with pytest.raises(Invalid, match="repositories and organizations"):
        harness.store.write_sync(hooks.create, SYSTEM, url="pull:ci", events=["push"])


@pytest.mark.parametrize(
    "options", [{"handshake": "cloudevents"}, {"oauth2": {"token_url": "https://tower.example"}}]
)
async def test_a_pull_hook_needs_no_access_to_an_endpoint(
    harness: WorkerHarness, options: dict[str, Any]
) -> None:
    with pytest.raises(Invalid, match="is for hooks with an endpoint"):
        harness.store.write_sync(
            hooks.create, harness.repo["id"], url="pull:ci", events=["push"], options=options
        )


async def test_a_fetched_payload_without_a_repository_gets_the_event_s(
    harness: WorkerHarness,
) -> None:
    hook_id = harness.hook("pull:ci", options={"format": "thin"})
    await harness.event(b'{"ref": "refs/heads/main"}')
    (fetched,) = fetch(harness, hook_id)
    full_name = harness.repo["full_name"]
    own = {"id": harness.repo["id"], "full_name": full_name, "url": None}
    assert orjson.loads(fetched.body)["repository"] == own
