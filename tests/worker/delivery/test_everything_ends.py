"""Random sequences of failures, edits, restarts and crashes: every delivery ends."""

import asyncio
import contextlib
import random

import pytest
from waiting import until
from worker_harness import Post, WorkerHarness, said

from store.delivery import attempts, deliveries
from store.delivery.outcomes import attempt_outcomes
from store.errors import Unavailable
from worker.http.answer import ExchangeResult
from worker.tuning import Tuning

HOOKS = 6
STEPS = 25


IN_A_HURRY = Tuning(
    first_cooldown=0.01,
    max_cooldown=0.05,
    max_queue=16,
    claim_batch=8,
    store_retry_delay=0.01,
    max_buffered=40,
    record_pauses=(0.01,),
    stop_grace=0.05,
    outage_grace=0.0,
)


class Story:
    """A random sequence of steps on a harness, which a seed determines."""

    def __init__(self, harness: WorkerHarness, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.harness, self.monkeypatch = harness, monkeypatch
        self.chance = random.Random(seed)
        self.sick = True
        harness.tuning = IN_A_HURRY
        harness.network.script = self.answer
        self.hooks = [harness.hook(options=self.options()) for _ in range(HOOKS)]

    def options(self) -> dict[str, object]:
        return {
            "retries": [0, 1, 1, 1, 1, 1, 1, 1],
            "disable_after": 0,
            "breaker": self.chance.choice([0, 1, 3]),
            "concurrency": self.chance.choice([1, 2, 20]),
            "rate": self.chance.choice([None, None, 500]),
        }

    async def answer(self, post: Post) -> ExchangeResult:
        if not self.sick:
            return said()
        kind = self.chance.random()
        await asyncio.sleep(0.0005 if kind < 0.9 else 0.02)
        if kind > 0.97:
            raise RuntimeError("a mistake")
        return said(200 if kind < 0.5 else 500)

    async def events(self) -> None:
        await self.harness.events(self.chance.randrange(1, 30))

    async def time(self) -> None:
        await self.harness.pass_time(self.chance.choice([0, 1, 1, 60]))

    async def edit(self) -> None:
        hook_id = self.chance.choice(self.hooks)
        self.harness.edit(hook_id, options=self.options(), active=self.chance.random() < 0.8)

    async def look(self) -> None:
        assert self.harness.worker is not None
        await self.harness.worker.poll()

    async def restart(self) -> None:
        await self.harness.rest()
        await self.start()

    async def crash(self) -> None:
        self.harness.crash()
        await self.start()

    async def trouble(self) -> None:
        def failing(*args: object) -> None:
            raise Unavailable("disk full")

        module, name = self.chance.choice(
            [(attempt_outcomes, "record"), (deliveries, "claim"), (deliveries, "release")]
        )
        with self.monkeypatch.context() as patched:
            patched.setattr(module, name, failing)
            # The store commits writes in groups. If one write fails, its group is refused.
            with contextlib.suppress(Unavailable):
                await self.harness.events(1)
            await asyncio.sleep(0.02)
        # This write waits until the last group with a failing write has ended.
        with contextlib.suppress(Unavailable):
            await self.harness.store.write_relaxed(lambda db: None)

    async def start(self) -> None:
        await self.harness.work(max_in_flight=self.chance.choice([3, 1000]))

    async def happen(self) -> None:
        await self.start()
        steps = [self.events] * 5 + [self.time] * 3 + [self.edit, self.look, self.trouble]
        for _ in range(STEPS):
            await self.chance.choice([*steps, self.restart, self.crash])()

    async def end(self) -> None:
        """Let all receivers succeed and all hooks be active, until no delivery waits any more."""
        self.sick = False
        for hook_id in self.hooks:
            self.harness.edit(hook_id, active=True)
        for _ in range(20):
            await self.harness.pass_time(60)
            worker = self.harness.worker
            assert worker is not None
            await until(lambda d=worker.dispatcher: d.in_flight == 0 and d.queued == 0)
        await until(lambda: self.harness.counts()["waiting"] == 0)


@pytest.mark.parametrize("seed", range(4))
async def test_everything_ends(
    harness: WorkerHarness, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(harness, seed, monkeypatch)
    await story.happen()
    await story.end()
    rows = harness.deliveries()
    assert rows
    assert not harness.leased()
    for row in rows:
        if row["state"] == "delivered":
            tried = harness.store.read_sync(attempts.of_delivery, row["id"])
            assert 200 in {each["status_code"] for each in tried}
        else:
            assert row["attempts"] == 8 or row["reason"] == "the hook is not active"
    worker = harness.worker
    assert worker is not None
    await worker.lease.scan()
    await until(lambda: not worker.dispatcher.admission.semaphore.waiting)
    assert worker.dispatcher.queued == 0
