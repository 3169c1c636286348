"""The watchdog: it names a stalled step, but not a slow receiver or a store that refuses calls."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from clock_helpers import hasten
from waiting import until
from worker_harness import Gate, WorkerHarness, said, settle

from store import Store
from store.delivery import deliveries
from store.delivery.outcomes import attempt_outcomes
from store.errors import Unavailable
from worker.delivery.watchdog import Watchdog
from worker.tuning import Tuning

LIMIT = 5.0


async def test_nothing_is_stuck_where_nothing_is_expected() -> None:
    assert Watchdog().stalled(0) is None


async def test_a_step_beyond_the_limit_is_stalled() -> None:
    pulse = Watchdog()
    with pulse.watch("claiming"):
        assert pulse.stalled(LIMIT) is None
        hasten(2 * LIMIT)
        with pulse.watch("recording"):
            assert str(pulse.stalled(LIMIT)).startswith("claiming: no sign of life for 10 s")
    assert pulse.stalled(LIMIT) is None


async def test_an_overdue_step_is_stalled() -> None:
    pulse = Watchdog()
    pulse.arm("looking", LIMIT)
    hasten(1.5 * LIMIT)
    assert pulse.stalled(LIMIT) is None, "the limit counts from the time at which it was due"
    hasten(1.5 * LIMIT)
    assert str(pulse.stalled(LIMIT)).startswith("looking: ")
    pulse.arm("looking", LIMIT)
    assert pulse.stalled(LIMIT) is None
    pulse.disarm("looking")
    hasten(3 * LIMIT)
    assert pulse.stalled(LIMIT) is None


async def test_a_worker_at_rest_and_at_work_is_not_stuck(harness: WorkerHarness) -> None:
    worker = await harness.work()
    harness.hook()
    hasten(2 * LIMIT)
    await settle()
    assert worker.dispatcher.watchdog.stalled(LIMIT) is None
    await harness.events(20)
    await until(lambda: harness.states()["delivered"] == 20)
    assert worker.dispatcher.watchdog.stalled(LIMIT) is None


async def test_an_endpoint_that_hangs_is_no_standstill(harness: WorkerHarness) -> None:
    worker = await harness.work()
    harness.hook("https://slow.example/hook")
    gate = harness.network.script = Gate(["slow.example"])
    await harness.event()
    await until(lambda: worker.dispatcher.in_flight == 1)
    hasten(2 * LIMIT)
    await settle()
    assert worker.dispatcher.watchdog.stalled(LIMIT) is None
    gate.opened.set()
    await until(lambda: harness.states()["delivered"] == 1)


async def test_attempts_that_never_end_are_one(harness: WorkerHarness) -> None:
    harness.tuning = Tuning(max_attempt=0)
    worker = await harness.work()
    harness.hook("https://slow.example/hook")
    gate = harness.network.script = Gate(["slow.example"])
    await harness.event()
    await until(lambda: worker.dispatcher.in_flight == 1)
    hasten(2 * LIMIT)
    await until(lambda: str(worker.dispatcher.watchdog.stalled(LIMIT)).startswith("attempts: "))
    gate.opened.set()
    await until(lambda: worker.dispatcher.watchdog.stalled(LIMIT) is None)


async def test_a_handshake_has_its_own_time(harness: WorkerHarness) -> None:
    longest = 4 * LIMIT
    harness.tuning = Tuning(max_attempt=longest, poll_interval=1000)
    asked = Gate(["slow.example"], lambda: said(head=b"WebHook-Allowed-Origin: *"))
    sent = Gate(["slow.example"])
    harness.network.script = lambda post: (asked if post.head.startswith(b"OPTIONS") else sent)(
        post
    )
    harness.hook("https://slow.example/hook", options={"handshake": "cloudevents"})
    worker = await harness.work()
    await harness.event()
    for number, gate in enumerate((asked, sent), 1):
        await until(lambda many=number: len(harness.network.posts) == many)
        await settle()
        await until(lambda: worker.dispatcher.claimer.idle)
        hasten(longest)
        assert worker.dispatcher.watchdog.stalled(LIMIT) is None
        gate.opened.set()
    await until(lambda: harness.states()["delivered"] == 1)


@pytest.mark.parametrize(
    ("function", "part"), [(deliveries.claim, "claiming"), (attempt_outcomes.record, "recording")]
)
async def test_a_store_that_never_answers_is_stalled(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, function: object, part: str
) -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    def hangs(kept: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def hanging(self: Store, called: object, *args: object) -> object:
            if called is function:
                asked.set()
                await released.wait()
            return await kept(self, called, *args)

        return hanging

    for kept in (Store.write_relaxed, Store.write):
        monkeypatch.setattr(Store, kept.__name__, hangs(kept))
    hook_id = harness.hook()
    worker = await harness.work()
    await harness.event()
    worker.dispatcher.local.wake([hook_id])
    await asked.wait()
    hasten(2 * LIMIT)
    await until(lambda: str(worker.dispatcher.watchdog.stalled(LIMIT)).startswith(part))
    released.set()
    await until(lambda: worker.dispatcher.watchdog.stalled(LIMIT) is None)


async def test_a_store_that_refuses_is_no_standstill(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise Unavailable("disk full")

    worker = await harness.work()
    hook_id = harness.hook()
    with monkeypatch.context() as patched:
        for name in ("claim", "waiting_hooks"):
            patched.setattr(deliveries, name, full)
        worker.dispatcher.local.wake([hook_id])
        with pytest.raises(Unavailable):
            await worker.poll()
        hasten(2 * LIMIT)
        await settle()
        assert worker.dispatcher.watchdog.stalled(LIMIT) is None
