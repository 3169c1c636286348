"""Paused hooks: the worker sends nothing to them until they are resumed, and then everything."""

from waiting import until
from worker_harness import Gate, WorkerHarness, settle

from store.hook_state import hook_pauses
from store.hooks import hooks


def pause(harness: WorkerHarness, hook_id: int) -> None:
    harness.store.write_sync(lambda db: hook_pauses.pause(db, hooks.by_id(db, hook_id)))


def resume(harness: WorkerHarness, hook_id: int) -> None:
    harness.store.write_sync(lambda db: hook_pauses.resume(db, hooks.by_id(db, hook_id)))


async def test_events_of_a_pause_are_delivered_after_it(harness: WorkerHarness) -> None:
    await harness.work()
    hook_id, other = harness.hook(), harness.hook()
    await harness.event()
    await until(lambda: harness.states()["delivered"] == 2)
    pause(harness, hook_id)
    await harness.events(5)
    await until(lambda: harness.states(other)["delivered"] == 6)
    await settle()
    await harness.all_returned()
    assert harness.states(hook_id) == {"delivered": 1, "waiting": 5}
    resume(harness, hook_id)
    await until(lambda: harness.states(hook_id) == {"delivered": 6})


async def test_a_pause_returns_claimed_deliveries(harness: WorkerHarness) -> None:
    await harness.work(concurrency=1)
    hook_id = harness.hook("https://slow.example/hook")
    gate = harness.network.script = Gate(["slow.example"])
    await harness.events(4)
    await until(lambda: harness.network.posts)
    pause(harness, hook_id)
    gate.opened.set()
    await until(lambda: harness.states(hook_id) == {"delivered": 1, "waiting": 3})
    await until(lambda: not harness.leased())
    assert len(harness.network.posts) == 1, "only the request in flight was finished"
    resume(harness, hook_id)
    await until(lambda: harness.states(hook_id) == {"delivered": 4})
    assert len({post.guid for post in harness.network.posts}) == 4


async def test_a_worker_that_starts_leaves_a_paused_hook_alone(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    pause(harness, hook_id)
    await harness.event()
    await harness.work()
    await settle()
    assert harness.states(hook_id) == {"waiting": 1}
    resume(harness, hook_id)
    await until(lambda: harness.states(hook_id) == {"delivered": 1})


async def test_a_lost_wake_up_is_made_good_by_a_poll(harness: WorkerHarness) -> None:
    worker = await harness.work()
    hook_id = harness.hook()
    await harness.event()
    await until(lambda: harness.states()["delivered"] == 1)
    elsewhere = harness.another_store()
    row = elsewhere.read_sync(hooks.by_id, hook_id)
    elsewhere.write_sync(hook_pauses.pause, row)
    await harness.event()
    await settle()
    assert harness.states(hook_id) == {"delivered": 1, "waiting": 1}
    elsewhere.write_sync(lambda db: hook_pauses.resume(db, hooks.by_id(db, hook_id)))
    elsewhere.shut()
    await worker.poll()
    await until(lambda: harness.states(hook_id) == {"delivered": 2})
