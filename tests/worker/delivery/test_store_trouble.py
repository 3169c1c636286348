"""Outages of the store: deliveries pause, and afterwards all of them are delivered."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from calls import counting_calls
from engines import embedded
from waiting import PATIENCE, until
from worker_harness import Gate, Post, WorkerHarness, said, settle

from store import Connection
from store.delivery import deliveries, events, leases
from store.delivery.outcomes import attempt_outcomes
from store.errors import Busy, Damaged, StoreError, Unavailable
from worker import delivery
from worker.delivery import target_cache
from worker.http.answer import ExchangeResult, NoDescriptor, NoThread, Shortage
from worker.tuning import Tuning

PAUSE = 0.02


@pytest.fixture(autouse=True)
def short_pauses(harness: WorkerHarness) -> None:
    harness.tuning = Tuning(record_pauses=(PAUSE,), store_retry_delay=PAUSE)


class Trouble:
    """Let a function of the store fail until the block ends. `tried` counts the calls."""

    def __init__(self, module: Any, name: str, error: Exception) -> None:
        self.module, self.name, self.error = module, name, error
        self.function = getattr(module, name)
        self.tried = 0

    def __enter__(self) -> "Trouble":
        setattr(self.module, self.name, self)
        return self

    def __call__(self, *args: Any, **given: Any) -> Any:
        self.tried += 1
        raise self.error

    def mend(self) -> None:
        setattr(self.module, self.name, self.function)

    def __exit__(self, *exc: object) -> None:
        self.mend()


async def insisting(write: Callable[[], Awaitable[Any]]) -> None:
    """Repeat a write until it succeeds. It also fails if another write of its group fails."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(Busy, Unavailable):
                await write()
                return


async def events_at_last(harness: WorkerHarness, count: int) -> None:
    await asyncio.gather(*(insisting(harness.event) for _ in range(count)))


@pytest.fixture(params=[Unavailable("disk full"), Busy("too much")], ids=["unavailable", "busy"])
def error(request: pytest.FixtureRequest) -> StoreError:
    return request.param  # type: ignore[no-any-return]


async def test_recording_is_tried_until_it_works(harness: WorkerHarness, error: StoreError) -> None:
    hook_id = harness.hook()
    await harness.work()
    with Trouble(attempt_outcomes, "record", error) as trouble:
        await harness.event()
        await until(lambda: trouble.tried >= 3)
        assert len(harness.network.posts) == 1
    await harness.over(delivered=1)
    assert len(harness.attempts(hook_id)) == 1
    assert len(harness.network.posts) == 1, "the delivery was not sent again"


@pytest.mark.parametrize(
    ("shortage", "said_of_it"),
    [
        (
            NoDescriptor("connect: Too many open files"),
            "a file descriptor: connect: Too many open files",
        ),
        (NoThread("resolve: no more threads"), "a thread: resolve: no more threads"),
    ],
)
async def test_a_delivery_without_a_descriptor_or_thread_is_no_failure_of_its_hook(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture, shortage: Shortage, said_of_it: str
) -> None:
    left = 3

    def script(post: Post) -> ExchangeResult:
        nonlocal left
        left -= 1
        if left >= 0:
            raise shortage
        return said()

    harness.network.script = script
    hook_id = harness.hook(options={"breaker": 1})
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    (attempt,) = harness.attempts(hook_id)
    assert (attempt["number"], attempt["status_code"]) == (1, 200)
    assert harness.hook_row(hook_id)["failing_since"] is None
    assert [row.getMessage() for row in caplog.records] == [
        f"hook {hook_id} waits for {said_of_it}"
    ]


async def test_a_recording_whose_result_is_unknown_is_not_repeated(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection to the database is lost after a commit, before its answer."""
    note, tries = harness.store.write_relaxed, 0

    async def lost(function: Callable[..., Any], *args: Any) -> Any:
        nonlocal tries
        result = await note(function, *args)
        if function.__module__ == attempt_outcomes.__name__:
            tries += 1
            if tries == 1:
                raise Unavailable("the connection was lost")
        return result

    hook_id = harness.hook()
    await harness.work()
    monkeypatch.setattr(harness.store, "write_relaxed", lost)
    await harness.event()
    await until(lambda: tries == 2)
    await harness.over(delivered=1)
    assert len(harness.attempts(hook_id)) == 1


async def test_while_nothing_can_be_recorded_nothing_is_sent(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    gate = harness.network.script = Gate([f"h{number}.example" for number in range(1, 6)])
    for _ in range(5):
        harness.hook()
    await harness.work()
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        await harness.event()
        await until(lambda: len(harness.network.posts) == 5)
        gate.opened.set()
        await until(lambda: trouble.tried >= 2)
        await events_at_last(harness, 20)
        seen = trouble.tried
        await until(lambda: trouble.tried >= seen + 3)
        assert len(harness.network.posts) == 5
    await harness.over(delivered=105)
    assert len(harness.network.posts) == 105
    assert caplog.text.count("deliveries pause") == 1


async def test_pausing_costs_nothing(harness: WorkerHarness) -> None:
    for _ in range(10):
        harness.hook()
    await harness.work()
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        await harness.event()
        await until(lambda: trouble.tried >= 2)
        await events_at_last(harness, 5)
        seen = trouble.tried
        with counting_calls(delivery) as calls:
            await until(lambda: trouble.tried >= seen + 8)
        assert calls[0] < 1000, "no delivery is tried while none can be recorded"
    await harness.over(delivered=60)


async def test_outcomes_that_come_during_the_pause_are_kept(harness: WorkerHarness) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    slow = harness.hook()
    harness.hook()
    await harness.work()
    await harness.events(4)
    await harness.over(delivered=4, waiting=4)
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        gate.opened.set()
        await until(lambda: trouble.tried >= 3)
    await harness.over(delivered=8)
    assert len(harness.attempts(slow)) == 4
    assert len(harness.network.posts) == 8


@embedded("a lease that no other worker can end, because there is only one worker")
async def test_trouble_that_outlasts_a_lease_sends_nothing_twice(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    worker = await harness.work()
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        await events_at_last(harness, 5)
        await until(lambda: trouble.tried >= 3)
        harness.clock.advance(3600)
        await insisting(worker.poll)
    await harness.over(delivered=5)
    assert len(harness.network.posts) == 5
    assert len(harness.attempts(hook_id)) == 5


async def test_claiming_is_tried_until_it_works(harness: WorkerHarness, error: StoreError) -> None:
    harness.hook()
    await harness.events(10)
    with Trouble(deliveries, "claim", error) as trouble:
        await harness.work()
        await until(lambda: trouble.tried >= 3)
        assert not harness.network.posts
    await harness.over(delivered=10)


async def test_a_claim_that_meets_damage_says_so_and_is_tried_again(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.hook()
    await harness.event()
    with Trouble(deliveries, "claim", Damaged("a page is damaged")) as trouble:
        await harness.work()
        await until(lambda: trouble.tried >= 3)
    await harness.over(delivered=1)
    assert "nothing can be claimed: a page is damaged" in caplog.text
    assert "never retrieved" not in caplog.text


@pytest.mark.parametrize(
    ("module", "name"), [(target_cache, "load_target"), (events, "get_many")], ids=["hook", "event"]
)
async def test_reading_is_tried_until_it_works(
    harness: WorkerHarness, error: StoreError, module: Any, name: str
) -> None:
    harness.hook()
    harness.hook()
    await harness.events(20)
    with Trouble(module, name, error) as trouble:
        await harness.work()
        await until(lambda: trouble.tried >= 10)
        loop = asyncio.get_running_loop()
        began, seen = loop.time(), trouble.tried
        await until(lambda: trouble.tried >= seen + 10)
        assert loop.time() - began >= PAUSE / 2, "the worker pauses between two reads"
        assert not harness.network.posts
    await harness.over(delivered=40)
    assert len(harness.network.posts) == 40


async def test_a_hook_that_cannot_be_read_after_an_edit_is_not_used_as_it_was(
    harness: WorkerHarness, error: StoreError
) -> None:
    gate = harness.network.script = Gate(["h1.example"])
    hook_id = harness.hook(options={"concurrency": 2})
    await harness.work()
    await harness.events(20)
    await until(lambda: harness.network.in_flight["h1.example"] == 2)
    with Trouble(target_cache, "load_target", error) as trouble:
        harness.edit(hook_id, url="https://moved.example/x")
        gate.opened.set()
        await until(lambda: trouble.tried >= 5)
    await harness.over(delivered=20)
    assert len(harness.network.to("h1.example")) == 2
    assert len(harness.network.to("moved.example")) == 18


async def test_burying_is_tried_until_it_works(harness: WorkerHarness, error: StoreError) -> None:
    hook_id = harness.hook()
    await harness.events(5)
    harness.edit(hook_id, active=False)
    with Trouble(deliveries, "mark_dead", error) as trouble:
        await harness.work()
        await until(lambda: trouble.tried >= 3)
    await harness.over(dead=5)


async def test_giving_back_is_tried_until_it_works(
    harness: WorkerHarness, error: StoreError
) -> None:
    harness.network.script = lambda post: said(500)
    harness.hook(options={"breaker": 1})
    await harness.work()
    with Trouble(deliveries, "release", error) as trouble:
        await events_at_last(harness, 20)
        await until(lambda: trouble.tried >= 3)
        assert harness.leased()
    await until(lambda: not harness.leased())


async def test_looking_is_tried_again(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.hook()
    await harness.events(3)
    worker = await harness.work()
    await harness.over(delivered=3)
    with Trouble(deliveries, "waiting_hooks", Unavailable("disk full")) as trouble:
        worker.wake([])
        await until(lambda: trouble.tried == 1)
        await until(lambda: "disk full" in caplog.text)
    await harness.event()
    await harness.over(delivered=4)


async def test_a_mistake_while_recording_does_not_stop_the_others(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.hook()
    await harness.work()
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        await harness.event()
        await until(lambda: trouble.tried >= 2)
        trouble.error = RuntimeError("a mistake")
        await until(lambda: "a mistake" in caplog.text)
    await harness.events(5)
    await until(lambda: harness.counts()["delivered"] == 5)
    await harness.rest()
    await harness.work()
    await harness.over(delivered=6)


# A full disk, and a slow store.


def _limit_pages(db: Connection, pages: int) -> None:
    db.value(f"PRAGMA max_page_count = {pages}")


@embedded("a full disk is made by a limit of SQLite; a server has its own tests of outages")
async def test_deliveries_go_on_after_a_full_disk(harness: WorkerHarness) -> None:
    for _ in range(3):
        harness.hook()
    gate = harness.network.script = Gate(
        ["h1.example", "h2.example", "h3.example"], lambda: said(body=os.urandom(60_000))
    )
    await harness.work()
    await harness.events(20)
    await harness.store.write_relaxed(_limit_pages, 1)
    gate.opened.set()
    await until(lambda: len(harness.network.posts) >= 12)
    worker = harness.worker
    assert worker is not None
    await until(lambda: worker.dispatcher.admission.blocked())
    sent = len(harness.network.posts)
    await settle()
    assert len(harness.network.posts) <= sent + 12
    with pytest.raises(Unavailable):
        await harness.event(os.urandom(200_000))
    await insisting(lambda: harness.store.write_relaxed(_limit_pages, 1_000_000))
    await harness.over(delivered=60)
    assert len(harness.network.posts) == 60


async def test_unrecorded_outcomes_are_bounded(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash, deliveries whose outcomes were not recorded are sent again."""
    harness.tuning = replace(harness.tuning, max_unrecorded=20)
    over = asyncio.Event()
    for _ in range(3):
        harness.hook(options={"concurrency": 4})
    worker = await harness.work()
    note = harness.store.write_relaxed

    async def slow(function: Any, *given: Any) -> Any:
        if function is attempt_outcomes.record:
            await over.wait()
        return await note(function, *given)

    monkeypatch.setattr(harness.store, "write_relaxed", slow)
    await harness.events(100)
    await until(lambda: worker.dispatcher.admission.blocked())
    await until(lambda: worker.dispatcher.in_flight == 0)
    await settle()
    # Requests that were in flight when the bound was reached may exceed it.
    assert 20 <= len(harness.network.posts) <= 20 + 3 * 4
    over.set()
    await harness.over(delivered=300)
    assert len(harness.network.posts) == 300


# Stopping during an outage, and failed deliveries.


async def ends(stopping: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        await stopping()


async def test_stopping_does_not_wait_for_a_store_that_stays_away(harness: WorkerHarness) -> None:
    harness.tuning = replace(harness.tuning, stop_grace=0.1, final_flush=0.1)
    harness.hook()
    worker = await harness.work()
    harness.worker = None
    with (
        Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble,
        Trouble(leases, "release", Unavailable("disk full")),
    ):
        await events_at_last(harness, 3)
        await until(lambda: trouble.tried >= 1)
        await ends(worker.stop)
    assert len(harness.leased()) == 3
    harness.outlive()
    await harness.work()
    await harness.over(delivered=3)
    assert len({post.guid for post in harness.network.posts}) == 3


async def test_stopping_waits_for_outcomes_to_be_recorded(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    worker = await harness.work()
    harness.worker = None
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        await harness.event()
        await until(lambda: trouble.tried >= 1)
        stopping = asyncio.create_task(worker.stop())
        await until(lambda: trouble.tried >= 3)
        assert not stopping.done()
    await stopping
    assert harness.counts()["delivered"] == 1
    assert len(harness.attempts(hook_id)) == 1
    assert not harness.leased()


async def test_failures_during_trouble_are_recorded_later(harness: WorkerHarness) -> None:
    def failing(post: Post) -> Any:
        return said(500)

    harness.network.script = failing
    hook_id = harness.hook(options={"breaker": 0})
    await harness.work()
    with Trouble(attempt_outcomes, "record", Unavailable("disk full")) as trouble:
        await events_at_last(harness, 6)
        await until(lambda: trouble.tried >= 3)
    await harness.recorded(hook_id, 6)
    await until(lambda: not harness.leased())
    harness.network.script = lambda post: said()
    await harness.pass_time(5)
    await harness.over(delivered=6)
