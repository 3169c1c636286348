"""The order of deliveries, whatever two workers, their leases, receivers and operators do.

A claim stands for a request that begins, and an outcome for one that ends. A request may take
followers along.
"""

import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from state_machines import play
from store_world import FakeNotifier, World
from transactions import transaction

from store import Connection, Row
from store.clock import SECOND
from store.database.notifications import Turn
from store.delivery import deliveries, events, leases
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.outcomes.attempt_outcomes import record
from store.delivery.replays import replay_deliveries
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Conflict, Missing
from store.hook_state import hook_pauses
from store.hooks import hooks
from store.ordering import followers, operations
from store.ordering.delivery_states import BEHIND, DEAD, DELIVERED, WAITING

LEASE = 30 * SECOND
# A worker sends nothing in the last ten seconds of its lease, and no request takes longer than
# two minutes.
MARGIN, LONGEST = 10 * SECOND, 120 * SECOND
WORKERS = st.integers(0, 1)
ORDERINGS = ["none", "hook", "repository", {"path": "/key"}, {"path": "/other"}]
OPEN = (WAITING, BEHIND)
BODIES = [{"key": 1, "other": "x"}, {"key": 2, "other": "x"}, {"other": "y"}, {"key": [1]}]


@dataclass
class Request:
    """A delivery in a request that a worker began and that has not ended."""

    lease: int
    one: ClaimedDelivery
    turn: Turn | None
    began: int
    first: int
    """The first delivery of the request."""


@dataclass
class Worker:
    lease: int = 0
    ends: int = 0
    requests: list[Request] = field(default_factory=list)


class Order(RuleBasedStateMachine):
    world: World

    @initialize()
    def start(self) -> None:
        self.world.store.write_sync(_empty)
        self.world.store.notifier = FakeNotifier()
        path: dict[str, object] = {"ordering": {"path": "/key"}}
        self.hooks = [
            self.world.hook(options=path)["id"],
            self.world.hook(options={"ordering": "hook", "on_exhausted": "block"})["id"],
            self.world.hook()["id"],
        ]
        self.arrived = 0
        self.newest_first: dict[tuple[int, str], int] = defaultdict(int)
        self.attempted: set[int] = set()
        self.workers = [Worker(), Worker()]
        for which in (0, 1):
            self.take(which)
        self.events_arrive([0, 1, 0], 0)

    # Events from outside.

    @rule(seconds=st.sampled_from([0, 1, 21, 31, 200, 3600]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule(bodies=st.lists(st.integers(0, 3), min_size=1, max_size=5), to=st.none() | WORKERS)
    def events_arrive(self, bodies: list[int], to: int | None) -> None:
        worker = None if to is None else self.workers[to]
        notifier = FakeNotifier(held=None if worker is None else worker.lease)
        self.world.store.notifier = notifier
        arrivals = []
        for body in bodies:
            self.arrived += 1
            raw = json.dumps(BODIES[body]).encode()
            arrivals.append(self.world.arrival(f"g-{self.arrived}", body=raw))
        self.world.store.write_sync(events.accept_all, arrivals)
        for offer in notifier.offers:
            assert worker is not None
            for delivery_id, hook_id, version in offer.deliveries:
                turn = offer.turns.get(delivery_id)
                one = ClaimedDelivery(delivery_id, offer.event_id, hook_id, 0, 0, version)
                one.turn = turn
                self._begin(worker, one)
        self.world.store.notifier = FakeNotifier()

    @rule(at=st.integers(0, 2), failed=st.booleans())
    def events_are_replayed(self, at: int, failed: bool) -> None:
        chosen = ReplaySelection(hook_id=self.hooks[at], failed=failed)
        newest = self.world.store.read_sync(_newest_event)
        before = {row["id"] for row in self.world.rows()}
        self.world.store.write_sync(replay_deliveries.create, chosen, 0, newest, 100)
        made = [row for row in self.world.rows() if row["id"] not in before]
        numbers = [row["sequence"] for row in sorted(made, key=lambda row: row["event_id"])]
        if None not in numbers:
            assert numbers == sorted(numbers), "the events keep their order"

    # Steps of an operator.

    @rule(at=st.integers(0, 2), which=st.integers(0, 30))
    def an_event_is_redelivered(self, at: int, which: int) -> None:
        rows = [row for row in self.world.rows() if row["hook_id"] == self.hooks[at]]
        if rows:
            row = rows[which % len(rows)]
            given = row["event_id"], row["hook_id"], row["repo_id"]
            self.world.store.write_sync(deliveries.redeliver, *given)

    @rule(at=st.integers(0, 1), which=st.integers(0, 5), all_of_it=st.booleans())
    def a_key_is_skipped(self, at: int, which: int, all_of_it: bool) -> None:
        hook_id = self.hooks[at]
        keys = self.world.store.read_sync(operations.keys, hook_id, 100)
        if keys:
            key = keys[which % len(keys)]["key"]
            act = operations.discard if all_of_it else operations.skip
            with suppress(Conflict, Missing):
                self.world.store.write_sync(act, hook_id, key)

    @rule(at=st.integers(0, 2), ordering=st.sampled_from(ORDERINGS), blocks=st.booleans())
    def the_ordering_is_changed(self, at: int, ordering: object, blocks: bool) -> None:
        options = {"ordering": ordering, "on_exhausted": "block" if blocks else "skip"}
        self._edit(at, options=options)
        # Keys of another ordering have another history, even if they have the same text.
        for key in [key for key in self.newest_first if key[0] == self.hooks[at]]:
            self.newest_first[key] = 0

    @rule(at=st.integers(0, 2), active=st.booleans())
    def a_hook_is_switched(self, at: int, active: bool) -> None:
        self._edit(at, active=active)

    @rule(at=st.integers(0, 2), paused=st.booleans())
    def a_hook_is_paused(self, at: int, paused: bool) -> None:
        act = hook_pauses.pause if paused else hook_pauses.resume
        self.world.store.write_sync(lambda db: act(db, _hook(db, self.hooks[at])))

    def _edit(self, at: int, **changes: object) -> None:
        with transaction(self.world.store) as db:
            hooks.update(db, _hook(db, self.hooks[at]), **changes)

    # Steps of a worker.

    @rule(which=WORKERS)
    def take(self, which: int) -> None:
        """A worker starts, or comes back after its lease has ended."""
        worker = self.workers[which]
        worker.lease, worker.ends = self.world.lease(LEASE), self.world.now + LEASE

    @rule(which=WORKERS)
    def renew(self, which: int) -> None:
        worker = self.workers[which]
        if self.world.store.write_sync(leases.renew, worker.lease, LEASE):
            worker.ends = self.world.now + LEASE

    @rule(which=WORKERS)
    def crash(self, which: int) -> None:
        """A worker crashes, and its requests end without outcomes."""
        self.workers[which].requests.clear()
        self.take(which)

    @rule(which=WORKERS)
    def stop(self, which: int) -> None:
        self.world.store.write_sync(leases.release, self.workers[which].lease)
        self.crash(which)

    @rule()
    def end_expired(self) -> None:
        self.world.store.write_sync(leases.release_expired)

    @rule(which=WORKERS, limit=st.integers(1, 4), along=st.integers(0, 3), unsent=st.integers(0, 2))
    def claim(self, which: int, limit: int, along: int, unsent: int) -> None:
        worker = self.workers[which]
        claimed, _ = self.world.store.write_sync(deliveries.claim, self.hooks, worker.lease, limit)
        left = []
        for one in claimed:
            if self._begin(worker, one):
                left += self._take_along(worker, one, along, unsent)
            else:
                left.append(one.id)
        self.world.store.write_sync(deliveries.release, worker.lease, left)

    def _take_along(
        self, worker: Worker, first: ClaimedDelivery, along: int, unsent: int
    ) -> list[int]:
        """Send followers with a delivery. Return those that were claimed and not sent."""
        turn = first.turn
        if not along or turn is None or turn.out_of_turn or turn.sequence is None:
            return []
        key = first.hook_id, turn.key
        found = self.world.store.write_sync(
            followers.claim, key, (first.id, turn), worker.lease, along
        )
        sent = found[: max(len(found) - unsent, 0)]
        for one in sent:
            claimed = ClaimedDelivery(
                one.id, one.event_id, first.hook_id, one.attempts, one.redelivery, 0, turn=one.turn
            )
            assert self._begin(worker, claimed, first.id)
        return [one.id for one in found[len(sent) :]]

    @rule(
        which=WORKERS,
        many=st.integers(1, 4),
        states=st.lists(st.sampled_from([WAITING, DELIVERED, DEAD]), min_size=4, max_size=4),
        delay=st.sampled_from([0, 5, 300]),
    )
    def requests_end(self, which: int, many: int, states: list[int], delay: int) -> None:
        """The deliveries of a request are recorded in one transaction."""
        worker = self.workers[which]
        ended = {request.first for request in worker.requests[:many]}
        done = [request for request in worker.requests if request.first in ended]
        worker.requests = [request for request in worker.requests if request.first not in ended]
        self._record(done, states * len(done), delay)

    @rule(
        which=WORKERS,
        unsent=st.integers(0, 1),
        states=st.lists(st.sampled_from([WAITING, DELIVERED, DEAD]), min_size=4, max_size=4),
        ends=st.booleans(),
    )
    def a_batch_is_sent(self, which: int, unsent: int, states: list[int], ends: bool) -> None:
        """Send several deliveries in one request, as the other rules rarely do."""
        self.events_arrive([0, 0, 1, 0], None)
        self.claim(which, 4, 3, unsent)
        if ends:
            self.requests_end(which, 4, states, 0)

    def _record(self, done: list[Request], states: list[int], delay: int = 0) -> None:
        outcomes = {
            request.one.id: self.world.outcome(
                request.lease,
                request.one,
                state=_noted(request, state),
                status_code=200 if state == DELIVERED else 500,
                due_at=self.world.now + delay * SECOND,
                started_at=request.began,
                turn=request.turn,
            )
            for request, state in zip(done, states, strict=False)
        }
        self.world.store.write_sync(record, [*outcomes.values()])

    @rule(which=WORKERS)
    def bury(self, which: int) -> None:
        worker = self.workers[which]
        if worker.requests:
            request = worker.requests.pop()
            self.world.store.write_sync(
                deliveries.mark_dead, request.lease, [request.one.id], "gone"
            )

    def _begin(self, worker: Worker, one: ClaimedDelivery, first: int | None = None) -> bool:
        """Begin a request and check its order. Return False if the worker's lease ends too soon.

        `first` is the first delivery of the request if `one` is a follower.
        """
        now = self.world.now
        if now >= worker.ends - MARGIN:
            return False
        request = Request(worker.lease, one, one.turn, now, first or one.id)
        if one.turn is not None:
            self._check_turn(request, self.world.rows())
        worker.requests.append(request)
        return True

    def _check_turn(self, request: Request, rows: list[Row]) -> None:
        one, turn = request.one, request.turn
        assert turn is not None
        key = one.hook_id, turn.key
        together = {request.one.id}
        for worker in self.workers:
            for other in worker.requests:
                if (other.lease, other.first) == (request.lease, request.first):
                    together.add(other.one.id)
                    continue
                alive = other.began + LONGEST > request.began
                same = other.turn is not None and (other.one.hook_id, other.turn.key) == key
                assert not (same and alive), "two requests of a key overlap"
        if turn.out_of_turn:
            return
        assert turn.sequence is not None
        before = [row for row in rows if _is_before(row, key, turn.sequence)]
        assert all(row["state"] in (DELIVERED, DEAD) or row["id"] in together for row in before), (
            "an earlier delivery was overtaken"
        )
        if one.id not in self.attempted:
            assert turn.sequence > self.newest_first[key]
            self.newest_first[key] = turn.sequence
            self.attempted.add(one.id)

    # Invariants.

    @invariant()
    def each_key_moves_or_waits_for_a_reason(self) -> None:
        if not hasattr(self, "workers"):
            return
        keys: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for row in self.world.rows():
            if row["ordering_key"] is not None and row["state"] in OPEN:
                keys[row["hook_id"], row["ordering_key"]].append(row)
        stalled, barriers = self.world.store.read_sync(_reasons)
        for (hook_id, key), rows in keys.items():
            with_turn = [row for row in rows if row["state"] == WAITING]
            assert len(with_turn) <= 1, "two deliveries of a key can be claimed"
            held = {row["lease_id"] for row in with_turn}
            assert all(row["lease_id"] in {None, *held} for row in rows if row["state"] == BEHIND)
            if with_turn:
                continue
            assert not any(row["out_of_turn"] for row in rows)
            barrier = barriers.get(hook_id)
            after = barrier is not None and min(row["sequence"] for row in rows) > barrier
            assert (hook_id, key) in stalled or after, "nothing wakes this key"
            if after:
                assert any(
                    row["sequence"] <= barrier
                    for (other, _), waiting in keys.items()
                    for row in waiting
                    if other == hook_id and not row["out_of_turn"]
                ), "the old keys have drained"

    @invariant()
    def sequences_follow_the_events(self) -> None:
        if hasattr(self, "workers"):
            for hook_id in self.hooks:
                numbers = [
                    row["sequence"]
                    for row in self.world.rows()
                    if row["hook_id"] == hook_id and row["sequence"] and not row["out_of_turn"]
                ]
                assert numbers == [*range(1, len(numbers) + 1)]

    def teardown(self) -> None:
        """After any steps, all deliveries end once workers and operators do their part."""
        if not hasattr(self, "workers"):
            return
        for at in range(3):
            self.a_hook_is_paused(at, False)
            self._edit(at, active=True)
        for which in (0, 1):
            self.stop(which)
        for _ in range(1_000):
            self.world.clock.advance(400)
            self.end_expired()
            self.take(0)
            self.claim(0, 4, 3, 0)
            self.requests_end(0, 100, [DELIVERED], 0)
            for hook_id, key in self.world.store.read_sync(_reasons)[0]:
                self.world.store.write_sync(operations.skip, hook_id, key)
            if not any(row["state"] in OPEN for row in self.world.rows()):
                break
        assert all(row["state"] in (DELIVERED, DEAD) for row in self.world.rows())
        assert all(row["lease_id"] is None for row in self.world.rows())


def _noted(request: Request, state: int) -> int:
    """Return the state that a worker records. A follower that failed waits for its turn again."""
    return BEHIND if state == WAITING and request.first != request.one.id else state


def _is_before(row: Row, key: tuple[int, str], sequence: int) -> bool:
    same = (row["hook_id"], row["ordering_key"]) == key
    return same and not row["out_of_turn"] and row["sequence"] < sequence


def _hook(db: Connection, hook_id: int) -> Row:
    row = hooks.by_id(db, hook_id)
    assert row is not None
    return row


def _newest_event(db: Connection) -> int:
    return db.value("SELECT max(id) FROM event") or 0


def _reasons(db: Connection) -> tuple[set[tuple[int, str]], dict[int, int]]:
    """The blocked keys, and the barriers of hooks whose ordering was changed."""
    stalled = db.tuples("SELECT hook_id, key FROM ordering_key WHERE blocked_at IS NOT NULL")
    rows = db.tuples("SELECT hook_id, barriers FROM hook_ordering")
    barriers = {hook_id: json.loads(barriers) for hook_id, barriers in rows}
    return set(stalled), {hook_id: found[0] for hook_id, found in barriers.items() if found}


def _empty(db: Connection) -> None:
    tables = "attempt delivery event subscription ordering_key hook_ordering hook lease"
    for table in tables.split():
        db.execute(f"DELETE FROM {table}")


def test_no_delivery_overtakes_another_of_its_key(world: World) -> None:
    play(Order, world, (25, 250, 10), steps=40)
