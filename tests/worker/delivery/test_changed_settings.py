"""Changes of the settings of a running worker."""

import asyncio

import pytest
from receivers import LOOPBACK, OK, Call, ok, serving
from waiting import until
from worker_harness import Gate, WorkerHarness, settle

from store.errors import Unusable
from worker.http.guard import Guard, Refused
from worker.settings import USER_AGENT, WorkerSettings


def settings(**changes: object) -> WorkerSettings:
    return WorkerSettings.model_validate({"allow_networks": LOOPBACK, "jitter": 0} | changes)


async def test_the_next_delivery_is_made_by_them(harness: WorkerHarness) -> None:
    worker = await harness.work()
    harness.hook()
    await harness.event()
    await until(lambda: harness.states()["delivered"] == 1)
    worker.change(settings(user_agent="GitHub-Hookshot/other", timeout=3))
    await harness.event()
    await until(lambda: harness.states()["delivered"] == 2)
    first, second = harness.network.posts
    assert first.headers["user-agent"] == USER_AGENT
    assert second.headers["user-agent"] == "GitHub-Hookshot/other"
    assert (first.deadline, second.deadline) == (10, 3)


async def test_lower_limits_lose_no_delivery_in_flight(harness: WorkerHarness) -> None:
    worker = await harness.work(concurrency=4)
    harness.hook("https://slow.example/hook")
    gate = harness.network.script = Gate(["slow.example"])
    await harness.events(30)
    await until(lambda: worker.dispatcher.in_flight == 4)
    worker.change(settings(concurrency=2, max_in_flight=3))
    await settle()
    assert worker.dispatcher.in_flight == 4
    harness.network.most.clear()
    gate.opened.set()
    await until(lambda: harness.states()["delivered"] == 30)
    assert harness.network.most["slow.example"] <= 4
    assert len(harness.network.posts) == 30


async def test_a_higher_limit_starts_waiting_deliveries(harness: WorkerHarness) -> None:
    worker = await harness.work(max_in_flight=1)
    gate = harness.network.script = Gate(["a.example", "b.example"])
    for name in ("a", "b"):
        harness.hook(f"https://{name}.example/hook")
    await harness.event()
    await until(lambda: worker.dispatcher.in_flight == 1)
    worker.change(settings(max_in_flight=2))
    await until(lambda: worker.dispatcher.in_flight == 2)
    gate.opened.set()
    await until(lambda: harness.states()["delivered"] == 2)


async def test_a_higher_limit_keeps_more_idle_connections(harness: WorkerHarness) -> None:
    many, together = 3, asyncio.Event()

    async def answers_together(call: Call) -> None:
        while True:
            await call.request()
            if len(call.receiver.heads) == many:
                together.set()
            await together.wait()
            await call.say(OK)

    async with serving(answers_together) as receiver:
        worker = await harness.work(real=True, max_in_flight=1)
        worker.change(settings(max_in_flight=many))
        for number in range(many):
            harness.hook(f"{receiver.url}{number}")
        await harness.event()
        await until(lambda: harness.states()["delivered"] == many)
        assert worker.open_connections == many
        await harness.rest()


async def test_networks_that_are_no_longer_allowed_are_not_used(harness: WorkerHarness) -> None:
    """A connection that was opened while the network was allowed is not used either."""

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    guard = Guard(allow_networks=LOOPBACK, resolver=here)
    async with serving(ok) as receiver:
        worker = await harness.work(real=True, guard=guard)
        harness.hook(f"http://receiver.example:{receiver.port}/")
        await harness.event()
        await until(lambda: harness.states()["delivered"] == 1)
        assert worker.open_connections == 1
        worker.change(settings(allow_networks=[]))
        await harness.event()
        hook_id = harness.deliveries()[0]["hook_id"]
        await until(lambda: len(harness.attempts(hook_id)) == 2)
        assert harness.attempts(hook_id)[-1]["error"].startswith("guard: ")
        assert len(receiver.heads) == 1
        worker.change(settings())
        await harness.event()
        await until(lambda: harness.states()["delivered"] == 2)
        await harness.rest()
        guard.close()


async def test_wrong_settings_change_nothing(harness: WorkerHarness) -> None:
    worker = await harness.work()
    with pytest.raises(Unusable, match="allow_networks: 'nonsense'"):
        worker.change(settings(allow_networks=["nonsense"], user_agent="other"))
    with pytest.raises(Unusable, match="and not a range of ports"):
        worker.change(settings(callback_ports="0-1", allow_networks=[]))
    worker.guard.check_address("127.0.0.1")
    with pytest.raises(Refused):
        worker.guard.check_address("10.0.0.1")
    harness.hook()
    await harness.event()
    await until(lambda: harness.states()["delivered"] == 1)
    assert harness.network.posts[0].headers["user-agent"] == USER_AGENT


async def test_stopping_begins_once(harness: WorkerHarness) -> None:
    worker = await harness.work()
    begun = worker.start_stopping()
    assert worker.start_stopping() is begun
    await worker.stop()
    assert begun.done()
    harness.worker = None
