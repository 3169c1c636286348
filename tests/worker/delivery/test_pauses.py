"""Hooks that are paused while the worker works: nothing is sent, and later all of it."""

from house import Gate, House, settle
from waiting import until

from store.hooks import hook_pauses, hooks


def pause(house: House, hook_id: int) -> None:
    house.store.do(lambda db: hook_pauses.pause(db, hooks.by_id(db, hook_id)))


def resume(house: House, hook_id: int) -> None:
    house.store.do(lambda db: hook_pauses.resume(db, hooks.by_id(db, hook_id)))


async def test_events_of_a_pause_are_delivered_after_it(house: House) -> None:
    await house.work()
    hook_id, other = house.hook(), house.hook()
    await house.event()
    await until(lambda: house.states()["delivered"] == 2)
    pause(house, hook_id)
    await house.events(5)
    await until(lambda: house.states(other)["delivered"] == 6)
    await settle()
    assert house.states(hook_id) == {"delivered": 1, "waiting": 5}
    assert house.leased() == []
    resume(house, hook_id)
    await until(lambda: house.states(hook_id) == {"delivered": 6})


async def test_what_a_worker_holds_is_given_back(house: House) -> None:
    await house.work(concurrency=1)
    hook_id = house.hook("https://slow.example/hook")
    gate = house.network.script = Gate(["slow.example"])
    await house.events(4)
    await until(lambda: house.network.posts)
    pause(house, hook_id)
    gate.opened.set()
    await until(lambda: house.states(hook_id) == {"delivered": 1, "waiting": 3})
    await until(lambda: not house.leased())
    assert len(house.network.posts) == 1, "what was in flight was finished, and nothing begun"
    resume(house, hook_id)
    await until(lambda: house.states(hook_id) == {"delivered": 4})
    assert len({post.guid for post in house.network.posts}) == 4


async def test_a_worker_that_starts_leaves_a_paused_hook_alone(house: House) -> None:
    hook_id = house.hook()
    pause(house, hook_id)
    await house.event()
    await house.work()
    await settle()
    assert house.states(hook_id) == {"waiting": 1}
    resume(house, hook_id)
    await until(lambda: house.states(hook_id) == {"delivered": 1})


async def test_a_lost_wake_up_is_made_good_by_a_poll(house: House) -> None:
    worker = await house.work()
    hook_id = house.hook()
    await house.event()
    await until(lambda: house.states()["delivered"] == 1)
    elsewhere = house.another_store()
    row = elsewhere.look(hooks.by_id, hook_id)
    elsewhere.do(hook_pauses.pause, row)
    await house.event()
    await settle()
    assert house.states(hook_id) == {"delivered": 1, "waiting": 1}
    elsewhere.do(lambda db: hook_pauses.resume(db, hooks.by_id(db, hook_id)))
    elsewhere.shut()
    await worker.poll()
    await until(lambda: house.states(hook_id) == {"delivered": 2})
