"""A state machine of Hypothesis: hooks, events, receivers, time and crashes, against a model."""

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from waiting import until
from worker_harness import Post, WorkerHarness, said

from store import Connection
from store.delivery import hook_removal
from store.hooks import hooks
from tests.torture.finding import Trial
from worker.http.answer import ExchangeResult
from worker.tuning import Tuning

RETRIES = [0, 1, 60, 3600]
STEPS = 40
ANSWERS: dict[str, Any] = {
    "yes": lambda: said(200),
    "no": lambda: said(500),
    "busy": lambda: said(503),
    "away": lambda: said(error="connect: refused"),
}


@dataclass
class Expected:
    """A hook of the model, and the GUIDs of the events that it must get."""

    host: str
    gone: bool = False
    guids: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    """The GUIDs of the events that the receiver accepted."""


class Hub(RuleBasedStateMachine):
    folder: ClassVar[Path]
    stories: ClassVar[int] = 0
    deliveries: ClassVar[int] = 0
    crashes: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Hub.stories += 1
        self.runner = asyncio.Runner()
        self.place = self.folder / str(Hub.stories)
        self.place.mkdir()
        self.harness = self.runner.run(self._harness())
        self.model: dict[int, Expected] = {}
        self.answers: dict[str, str] = {}

    async def _harness(self) -> WorkerHarness:
        harness = WorkerHarness(self.place, tuning=Tuning(first_cooldown=0.01, max_cooldown=0.05))
        harness.network.script = self._answer
        await harness.work()
        return harness

    async def _answer(self, post: Post) -> ExchangeResult:
        await asyncio.sleep(0)
        kind = self.answers[post.host]
        if kind == "yes":
            self._by_host(post.host).taken.add(post.guid)
        return ANSWERS[kind]()  # type: ignore[no-any-return]

    def _by_host(self, host: str) -> Expected:
        return next(each for each in self.model.values() if each.host == host)

    @rule(answer=st.sampled_from(sorted(ANSWERS)), breaker=st.sampled_from([0, 2]))
    def subscribe(self, answer: str, breaker: int) -> None:
        host = f"s{len(self.model)}.example"
        options = {"retries": RETRIES, "disable_after": 0, "breaker": breaker}
        hook_id = self.harness.hook(f"https://{host}/", options=options)
        self.model[hook_id] = Expected(host)
        self.answers[host] = answer

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        hook_id = data.draw(st.sampled_from(sorted(self.model)))
        self.model[hook_id].gone = True
        self.runner.run(self._delete(hook_id))

    async def _delete(self, hook_id: int) -> None:
        await self.harness.store.write(_delete, self.harness.repo["id"], hook_id)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), answer=st.sampled_from(sorted(ANSWERS)))
    def receiver_changes(self, data: st.DataObject, answer: str) -> None:
        self.answers[data.draw(st.sampled_from(sorted(self.answers)))] = answer

    @rule(count=st.integers(1, 5))
    def ingest(self, count: int) -> None:
        there = [each for each in self.model.values() if not each.gone]
        receipts = self.runner.run(self.harness.events(count))
        for receipt in receipts:
            assert receipt.deliveries == len(there)
            for each in there:
                each.guids.append(receipt.guid)

    @rule(seconds=st.sampled_from([0, 1, 70, 4000, 86_400, -86_400]))
    def time(self, seconds: int) -> None:
        self.runner.run(self.harness.pass_time(seconds))

    @rule()
    def crash(self) -> None:
        Hub.crashes += 1
        self.runner.run(self._crash())

    async def _crash(self) -> None:
        self.harness.crash()
        await self.harness.work()

    @rule()
    def restart(self) -> None:
        self.runner.run(self._restart())

    async def _restart(self) -> None:
        await self.harness.rest()
        await self.harness.work()

    @rule()
    def settle(self) -> None:
        self.runner.run(self._settle())

    async def _settle(self) -> None:
        assert self.harness.worker is not None
        await self.harness.worker.lease.scan()
        await until(self._still, "everything that is due is done")

    def _still(self) -> bool:
        assert self.harness.worker is not None
        dispatcher = self.harness.worker.dispatcher
        if dispatcher.in_flight or dispatcher.queued or self.harness.leased():
            return False
        resting = {lane.hook_id for lane in dispatcher.lanes if lane.cooldown_until}
        now = self.harness.clock.now()
        waiting = [row for row in self.harness.deliveries() if row["state"] == "waiting"]
        return not [row for row in waiting if row["due_at"] <= now - 1 and
                    row["hook_id"] not in resting]  # fmt: skip

    @invariant()
    def as_in_the_model(self) -> None:
        rows: dict[int, list[Any]] = {hook_id: [] for hook_id in self.model}
        for row in self.harness.deliveries():
            # The deletion of a hook is an event too, which the model does not have.
            if row["guid"].startswith("guid-"):
                rows[row["hook_id"]].append(row)
        for hook_id, expected in self.model.items():
            assert sorted(row["guid"] for row in rows[hook_id]) == sorted(expected.guids)
            for row in rows[hook_id]:
                self._check(expected, row)

    def _check(self, expected: Expected, row: Any) -> None:
        if row["state"] == "delivered":
            assert row["guid"] in expected.taken, f"{row}: the receiver did not accept it"
        elif row["state"] == "dead":
            assert expected.gone or row["attempts"] == len(RETRIES), f"{row} died too early"

    def teardown(self) -> None:
        try:
            self.answers = dict.fromkeys(self.answers, "yes")
            self.runner.run(self._end())
            Hub.deliveries += len(self.harness.deliveries())
        finally:
            self.runner.run(self._close())
            self.runner.close()
            shutil.rmtree(self.place)

    async def _end(self) -> None:
        """Let a week pass, while each receiver accepts everything."""
        for _ in range(24 * 7):
            await self.harness.pass_time(3600)
            if not self.harness.counts()["waiting"]:
                break
        await until(lambda: not self.harness.counts()["waiting"] and not self.harness.leased())

    async def _close(self) -> None:
        await self.harness.close()


def _delete(db: Connection, repo_id: int, hook_id: int) -> None:
    hook = hooks.get(db, repo_id, hook_id)
    if hook is not None:
        hook_removal.delete(db, hook)


async def torture(trial: Trial) -> None:
    """Run `trial.rounds` stories, each of up to STEPS steps."""
    trial.folder.mkdir(parents=True, exist_ok=True)
    Hub.folder, Hub.stories, Hub.deliveries, Hub.crashes = trial.folder, 0, 0, 0
    broken = ""
    try:
        await asyncio.to_thread(_run, trial)
    except Exception as error:  # any error is a finding
        broken = "".join([repr(error), *getattr(error, "__notes__", ())])
    trial.find("stories", f"{trial.rounds:,}", f"{Hub.stories:,}", Hub.stories >= trial.rounds / 2)
    trial.show("deliveries, crashes", f"{Hub.deliveries:,}, {Hub.crashes:,}")
    trial.find("differences from the model", "nothing", broken or "nothing", not broken)


def _run(trial: Trial) -> None:
    chosen = settings(
        max_examples=trial.rounds,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        derandomize=trial.seed == 0,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Hub, settings=chosen)
