"""Leases of pull hooks under random steps: two consumers, the clock, crashes and operators."""

from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from required import required
from state_machines import play
from store_world import FakeNotifier, World, make_world

from store import Connection, Row, Store
from store.clock import MovableClock
from store.delivery import deliveries, leases
from store.hook_state import hook_pauses
from store.hooks import hooks
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING
from store.pull.fetching import Acknowledgement, Fetch, FetchedDelivery, Rejection
from store.pull.pull_leases import StaleLeases
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings

CONSUMERS = st.integers(0, 1)
HOOKS = st.integers(0, 1)
LEASE = 30.0


class Killed(Exception):
    """The process was killed before its transaction was committed."""


@dataclass
class Consumer:
    """The deliveries that a consumer knows. It may not know yet that a lease has lapsed."""

    name: str
    leased: list[tuple[int, FetchedDelivery]] = field(default_factory=list)
    """Leased deliveries, each with the index of its hook."""
    answered: list[tuple[int, FetchedDelivery]] = field(default_factory=list)


class Leases(RuleBasedStateMachine):
    world: World

    @initialize()
    def start(self) -> None:
        self.world.store.write_sync(_empty)
        self.world.store.notifier = FakeNotifier()
        self.queue = FetchQueue(WorkerSettings(retries=[0, 20, 40], jitter=0))
        ordered = self.world.hook(url="pull:ordered", options={"ordering": "hook"})
        self.hooks = [self.world.hook(url="pull:plain")["id"], ordered["id"]]
        self.consumers = [Consumer("a"), Consumer("b")]
        self.arrived = self.recorded = 0
        self.handed_out: list[int] = []
        self.event_arrives(2)

    def _hook(self, at: int) -> Row:
        return required(self.world.store.read_sync(hooks.by_id, self.hooks[at]))

    # Steps of the clock, of workers and of users, and new events.

    @rule(seconds=st.sampled_from([1, 19, 31, 100]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule(many=st.integers(1, 3))
    def event_arrives(self, many: int) -> None:
        for _ in range(many):
            self.arrived += 1
            self.world.arrive(f"g-{self.arrived}")

    @rule(which=st.integers(0, 1))
    def worker_takes_what_it_can(self, which: int) -> None:
        """A worker claims no delivery of a pull hook, and does not end the leases of consumers."""
        lease = self.world.lease()
        assert self.world.claim(lease, *self.hooks) == []
        if which:
            self.world.store.write_sync(leases.release_expired)
            self.world.store.write_sync(leases.release_others, lease)

    @rule(at=HOOKS)
    def somebody_redelivers(self, at: int) -> None:
        rows = [row for row in self.world.rows() if row["hook_id"] == self.hooks[at]]
        row = rows[0]
        self.world.store.write_sync(
            deliveries.redeliver, row["event_id"], self.hooks[at], row["repo_id"]
        )

    @rule(at=HOOKS)
    def somebody_pauses_for_a_moment(self, at: int) -> None:
        paused = self.world.store.write_sync(hook_pauses.pause, self._hook(at))
        request = Fetch("a", 10, LEASE)
        assert self.world.store.write_sync(self.queue.fetch, paused, request) == []
        self.world.store.write_sync(hook_pauses.resume, paused)
        self.recorded = len(self._attempts())

    # Steps of consumers.

    @rule(which=CONSUMERS, at=HOOKS, batch=st.integers(1, 4), killed=st.booleans())
    def consumer_fetches(self, which: int, at: int, batch: int, killed: bool) -> None:
        consumer, request = self.consumers[which], Fetch(self.consumers[which].name, batch, LEASE)
        if killed:
            with pytest.raises(Killed):
                self.world.store.write_sync(self._fetch_and_die, at, request)
            return
        found = self.world.store.write_sync(self.queue.fetch, self._hook(at), request)
        assert len(found) <= batch
        consumer.leased += [(at, one) for one in found]
        self.recorded = len(self._attempts())
        if at == 1:
            assert len(found) <= 1, "at most one delivery of a key is leased"
            for one in found:
                self._in_order(one)

    def _fetch_and_die(self, db: Connection, at: int, request: Fetch) -> None:
        hook = required(hooks.by_id(db, self.hooks[at]))
        self.queue.fetch(db, hook, request)
        raise Killed

    def _in_order(self, one: FetchedDelivery) -> None:
        row = self.world.row(one.delivery_id)
        if row["out_of_turn"] or row["attempts"]:
            return
        self.handed_out.append(row["sequence"])
        assert self.handed_out == sorted(self.handed_out)

    @rule(which=CONSUMERS)
    def consumer_is_killed(self, which: int) -> None:
        """The consumer forgets its deliveries, so that their leases will lapse."""
        self.consumers[which].leased.clear()

    @rule(which=CONSUMERS, status=st.sampled_from([200, 204, 429, 500]))
    def consumer_answers(self, which: int, status: int) -> None:
        consumer = self.consumers[which]
        if consumer.leased:
            at, one = consumer.leased.pop(0)
            self._settle(consumer, at, one, Acknowledgement(one.lease_id, status))

    @rule(which=CONSUMERS, delay=st.none() | st.just(5.0), dead=st.booleans())
    def consumer_rejects(self, which: int, delay: float | None, dead: bool) -> None:
        consumer = self.consumers[which]
        if consumer.leased:
            at, one = consumer.leased.pop(0)
            self._settle(consumer, at, one, Rejection(one.lease_id, "no", delay, dead))

    def _settle(
        self, consumer: Consumer, at: int, one: FetchedDelivery, said: Acknowledgement | Rejection
    ) -> None:
        is_open = self._state(one) is None
        if is_open:
            self._say(at, said)
            self.recorded += 1
            consumer.answered.append((at, one))
            row = self.world.row(one.delivery_id)
            good = isinstance(said, Acknowledgement) and said.status < 300
            assert (row["state"] == DELIVERED) == good
            assert row["attempts"] == one.number
        else:
            with pytest.raises(StaleLeases):
                self._say(at, said)

    def _say(self, at: int, said: Acknowledgement | Rejection) -> None:
        if isinstance(said, Acknowledgement):
            self.world.store.write_sync(self.queue.acknowledge, self._hook(at), [said])
        else:
            self.world.store.write_sync(self.queue.reject, self._hook(at), [said])

    @rule(which=CONSUMERS)
    def consumer_repeats_its_last_answer(self, which: int) -> None:
        consumer = self.consumers[which]
        if not consumer.answered:
            return
        at, one = consumer.answered[-1]
        if self._state(one) == "acked":
            self._say(at, Acknowledgement(one.lease_id, 200))
        else:
            self._say(at, Rejection(one.lease_id, "no"))

    @rule(which=CONSUMERS)
    def consumer_extends(self, which: int) -> None:
        for at, one in self.consumers[which].leased:
            with suppress(StaleLeases):
                self.world.store.write_sync(
                    self.queue.extend, self._hook(at), [one.lease_id], LEASE
                )
                assert self._state(one) is None

    @rule(at=HOOKS)
    def leases_lapse(self, at: int) -> None:
        self.recorded += self.world.store.write_sync(self.queue.lapse, self.hooks[at])

    # Invariants.

    @invariant()
    def each_lease_has_its_delivery(self) -> None:
        held = {-row["id"]: row["delivery_id"] for row in self._open_leases()}
        rows = {row["id"]: row for row in self.world.rows()}
        assert {row["lease_id"] for row in rows.values()} - {None} == set(held)
        for lease_id, delivery_id in held.items():
            assert rows[delivery_id]["lease_id"] == lease_id
            assert rows[delivery_id]["state"] == WAITING

    def teardown(self) -> None:
        """No delivery is lost: those that still wait can be fetched and acknowledged."""
        for _ in range(10 * self.arrived):
            self.world.clock.advance(100)
            for at in (0, 1):
                self.consumer_fetches(0, at, 4, killed=False)
                while self.consumers[0].leased:
                    self.consumer_answers(0, 200)
        for row in self.world.rows():
            assert row["state"] in (DELIVERED, DEAD), row
            assert row["attempts"], "each delivery had at least one attempt"

    @invariant()
    def each_end_of_a_lease_is_on_record(self) -> None:
        assert len(self._attempts()) == self.recorded == len(self._ended_leases())
        for row in self.world.rows():
            mine = [one for one in self._attempts() if one["delivery_id"] == row["id"]]
            assert [one["number"] for one in mine] == list(range(1, row["attempts"] + 1))

    @invariant()
    def one_of_a_key_is_in_flight(self) -> None:
        rows = {row["id"]: row for row in self.world.rows()}
        of_ordered = [
            row for row in self._open_leases() if rows[row["delivery_id"]]["ordering_key"]
        ]
        assert len(of_ordered) <= 1

    def _state(self, one: FetchedDelivery) -> str | None:
        return self.world.store.read_sync(_result, one.lease_id)

    def _open_leases(self) -> list[Row]:
        return self.world.store.read_sync(_leases, "ended_at IS NULL")

    def _ended_leases(self) -> list[Row]:
        return self.world.store.read_sync(_leases, "ended_at IS NOT NULL")

    def _attempts(self) -> list[Row]:
        return self.world.store.read_sync(_attempts)


def _empty(db: Connection) -> None:
    for table in ("pull_lease", "attempt", "delivery", "event", "subscription", "hook", "lease"):
        db.execute(f"DELETE FROM {table}")


def _result(db: Connection, lease_id: int) -> str | None:
    found: str | None = db.value("SELECT result FROM pull_lease WHERE id = :id", id=lease_id)
    return found


def _leases(db: Connection, condition: str) -> list[Row]:
    return db.all(f"SELECT id, delivery_id FROM pull_lease WHERE {condition} ORDER BY id")


def _attempts(db: Connection) -> list[Row]:
    return db.all("SELECT delivery_id, number FROM attempt ORDER BY id")


def test_leases_of_pull_hooks(store: Store, clock: MovableClock) -> None:
    world = make_world(store, clock)
    play(Leases, world, (20, 250, 10), steps=30)
