"""A worker beside pull hooks: it sends them nothing, wakes who waits for them, and tidies up."""

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest
from house import House, settle
from waiting import PATIENCE, until

from store import Row, Store
from store.clock import DAY
from store.database.wakeups import MOST_WAITERS, Waiter
from store.delivery import deliveries
from store.errors import Busy, Invalid
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM
from store.pull import idle_hooks, pull_leases
from store.pull.fetching import Acknowledgement, Fetch, FetchedDelivery
from worker.jobs.lapse import lapse, next_due
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings

SETTINGS = WorkerSettings(retries=[0, 60], jitter=0)


def fetch(house: House, hook_id: int, batch: int = 10) -> list[FetchedDelivery]:
    return house.store.do(FetchQueue(SETTINGS).fetch, row_of(house, hook_id), Fetch("tests", batch))


def answer(house: House, hook_id: int, *fetched: FetchedDelivery) -> None:
    answers = [Acknowledgement(one.lease_id) for one in fetched]
    house.store.do(FetchQueue(SETTINGS).acknowledge, row_of(house, hook_id), answers)


def row_of(house: House, hook_id: int) -> Row:
    found = house.store.look(hooks.by_id, hook_id)
    assert found is not None
    return found


async def heard(waiter: Waiter) -> None:
    async with asyncio.timeout(PATIENCE):
        await waiter.wait()


async def test_a_worker_sends_nothing_to_a_pull_hook(house: House) -> None:
    pulled, pushed = house.hook("pull:ci"), house.hook()
    await house.work()
    await house.events(3)
    await until(lambda: house.states(pushed) == {"delivered": 3})
    await settle()
    assert house.states(pulled) == {"waiting": 3}
    fetched = fetch(house, pulled)
    assert len(fetched) == 3
    answer(house, pulled, *fetched)
    assert all("pull:" not in post.endpoint.authority for post in house.network.posts)


async def test_a_hook_that_begins_to_pull_gets_what_waited(house: House) -> None:
    hook_id = house.hook()
    await house.event()
    house.edit(hook_id, url="pull:ci")
    await house.work()
    await settle()
    assert house.states(hook_id) == {"waiting": 1}
    answer(house, hook_id, *fetch(house, hook_id))
    assert house.states(hook_id) == {"delivered": 1}


async def test_what_a_deleted_hook_left_is_dead(house: House) -> None:
    hook_id = house.hook("pull:ci")
    await house.events(2)
    (leased,) = fetch(house, hook_id, 1)
    house.store.do(hooks.delete, row_of(house, hook_id))
    await house.work()
    await until(lambda: house.states(hook_id) == {"waiting": 1, "dead": 1})
    house.clock.advance(61)
    await lapse(house.store, SETTINGS)
    assert house.states(hook_id) == {"dead": 2}
    (row,) = [one for one in house.deliveries() if one["id"] == leased.delivery_id]
    assert row["reason"] == "the hook was deleted"


async def test_what_waits_for_an_inactive_hook_is_dead_when_it_is_fetched(house: House) -> None:
    hook_id = house.hook("pull:ci")
    await house.event()
    house.edit(hook_id, active=False)
    assert fetch(house, hook_id) == []
    assert house.states(hook_id) == {"dead": 1}


async def test_the_job_ends_leases_that_expire(house: House) -> None:
    hook_id = house.hook("pull:ci")
    await house.events(2)
    first, _ = fetch(house, hook_id)
    due = house.store.look(next_due)
    assert due == first.expires_at
    await lapse(house.store, SETTINGS)
    assert house.attempts(hook_id) == []
    house.clock.advance(61)
    await lapse(house.store, SETTINGS)
    assert [row["error"] for row in house.attempts(hook_id)] == [
        "lease: it expired before an answer"
    ] * 2
    assert house.store.look(next_due) is None
    house.clock.advance(61)
    again = fetch(house, hook_id)
    assert [one.number for one in again] == [2, 2]
    answer(house, hook_id, *again)
    assert house.states(hook_id) == {"delivered": 2}


async def test_ended_leases_are_forgotten(house: House) -> None:
    hook_id = house.hook("pull:ci")
    await house.event()
    (one,) = fetch(house, hook_id)
    now = house.store.clock.now()
    assert house.store.do(pull_leases.drop_ended, now + DAY, 10) == 0
    answer(house, hook_id, one)
    assert house.store.do(pull_leases.drop_ended, now + DAY, 10) == 1


async def test_an_idle_hook_is_removed(house: House) -> None:
    idle = house.hook("pull:idle", options={"expire_idle": 60})
    used = house.hook("pull:used", options={"expire_idle": 60})
    kept = house.hook("pull:kept")
    house.clock.advance(40)
    fetch(house, used)
    house.clock.advance(30)
    assert house.store.do(idle_hooks.remove) == [idle]
    assert [row["id"] for row in house.store.look(hooks.every)] == [used, kept]
    assert house.store.look(next_due) == house.store.clock.now() + 30 * 1_000_000


async def test_waiters_are_woken_by_this_process(house: House) -> None:
    hook_id, other = house.hook("pull:ci"), house.hook("pull:other")
    await house.work()
    with (
        house.store.wakeups.waiting(hook_id) as waiter,
        house.store.wakeups.waiting(other + 1) as deaf,
    ):
        await house.event()
        await heard(waiter)
        quiet = asyncio.create_task(deaf.wait())
        await settle()
        assert not quiet.done()
        quiet.cancel()


async def test_waiters_are_woken_by_other_processes(house: House) -> None:
    """A command without a worker, and a worker, each beside the hub of another process."""
    hook_id = house.hook("pull:ci")
    hub = house.another_store()
    await hub.listen_for_waiters()
    with hub.wakeups.waiting(hook_id) as waiter:
        await house.event()
        await heard(waiter)
        await house.work()
        event_id = house.deliveries()[0]["event_id"]
        await redeliver(house.store, event_id, hook_id)
        await heard(waiter)
    await hub.close()


async def redeliver(store: Store, event_id: int, hook_id: int) -> None:
    await store.write(deliveries.redeliver, event_id, hook_id, 1)


async def test_waiters_are_limited(house: House) -> None:
    with ExitStack() as stack:
        for _ in range(MOST_WAITERS):
            stack.enter_context(house.store.wakeups.waiting(1))
        with pytest.raises(Busy), house.store.wakeups.waiting(1):
            pass
        with house.store.wakeups.waiting(2):
            pass
    with house.store.wakeups.waiting(1):
        pass


async def test_no_hook_of_the_whole_installation_pulls(house: House) -> None:
    with pytest.raises(Invalid, match="repositories and organizations"):
        house.store.do(hooks.create, SYSTEM, url="pull:ci", events=["push"])


@pytest.mark.parametrize(
    "options", [{"handshake": "cloudevents"}, {"oauth2": {"token_url": "https://tower.example"}}]
)
async def test_a_pull_hook_needs_no_access_to_an_endpoint(
    house: House, options: dict[str, Any]
) -> None:
    with pytest.raises(Invalid, match="is for hooks with an endpoint"):
        house.store.do(
            hooks.create, house.repo["id"], url="pull:ci", events=["push"], options=options
        )
