"""The queue agrees with a simple model after any steps of two workers, their leases and time."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from state_machines import play
from store_world import FakeNotifier, World

from store import Connection
from store.clock import SECOND
from store.delivery import deliveries, events, leases
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.outcomes.attempt_outcomes import record
from store.delivery.outcomes.outcome import Outcome
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING

LEASE = 30 * SECOND
WORKERS = st.integers(0, 1)


@dataclass
class Expected:
    """A delivery as it should be stored."""

    hook: int
    due: int
    lease: int | None = None
    state: int = WAITING
    attempts: int = 0


@dataclass
class Worker:
    """The state as a worker knows it. Its lease may have ended without its knowledge."""

    lease: int = 0
    hand: list[tuple[int, ClaimedDelivery]] = field(default_factory=list)
    """Its claimed deliveries, each with the lease under which it was claimed."""


class Queue(RuleBasedStateMachine):
    world: World

    @initialize()
    def start(self) -> None:
        self.world.store.write_sync(_empty)
        self.world.store.notifier = FakeNotifier()
        push, both = self.world.hook("push"), self.world.hook("push", "star")
        self.subscribers = {"push": {push["id"], both["id"]}, "star": {both["id"]}}
        self.hooks = [push["id"], both["id"]]
        self.model: dict[int, Expected] = {}
        self.leases: dict[int, int] = {}
        self.arrived = self.newest_lease = 0
        self.workers = [Worker(), Worker()]
        for which in (0, 1):
            self.take(which)
        self.events_arrive(["push", "star"], 0, False)
        self.events_arrive(["push"], None, False)

    # Events from outside.

    @rule(seconds=st.sampled_from([0, 1, 10, 31, 3600]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule(
        names=st.lists(st.sampled_from(["push", "star"]), min_size=1, max_size=4),
        to=st.none() | WORKERS,
        full=st.booleans(),
    )
    def events_arrive(self, names: list[str], to: int | None, full: bool) -> None:
        notifier = FakeNotifier(
            held=None if to is None else self.workers[to].lease,
            filled=set(self.hooks[:1]) if full else set(),
        )
        self.world.store.notifier = notifier
        self.arrived += len(names)
        guids = [f"g-{self.arrived - at}" for at in range(len(names))]
        receipts = self.world.store.write_sync(
            events.accept_all,
            [self.world.arrival(guid, name=name) for guid, name in zip(guids, names, strict=True)],
        )
        named = {one.event_id: name for one, name in zip(receipts, names, strict=True)}
        fresh = [row for row in self.world.rows() if row["id"] not in self.model]
        assert sorted((row["event_id"], row["hook_id"]) for row in fresh) == sorted(
            (event_id, hook) for event_id, name in named.items() for hook in self.subscribers[name]
        )
        for row in fresh:
            lease = None if row["hook_id"] in notifier.filled else notifier.held
            self.model[row["id"]] = Expected(row["hook_id"], self.world.now, lease)
        self._take_what_is_offered(to, notifier)

    def _take_what_is_offered(self, to: int | None, notifier: FakeNotifier) -> None:
        for offer in notifier.offers:
            assert to is not None
            for delivery_id, hook_id, version in offer.deliveries:
                one = ClaimedDelivery(delivery_id, offer.event_id, hook_id, 0, 0, version)
                self.workers[to].hand.append((self.workers[to].lease, one))
        offered = {one[0] for offer in notifier.offers for one in offer.deliveries}
        assert all(self.model[one].lease == notifier.held for one in offered)

    # Steps of a worker.

    @rule(which=WORKERS)
    def take(self, which: int) -> None:
        lease = self.world.lease(LEASE)
        assert lease > self.newest_lease
        self.newest_lease = lease
        self.leases[lease] = self.world.now + LEASE
        self.workers[which].lease = lease

    @rule(which=WORKERS)
    def renew(self, which: int) -> None:
        lease = self.workers[which].lease
        # A lease that has expired can be renewed until a worker ends it.
        kept = lease in self.leases
        assert self.world.store.write_sync(leases.renew, lease, LEASE) == kept
        if kept:
            self.leases[lease] = self.world.now + LEASE

    @rule(which=WORKERS, limit=st.integers(1, 3))
    def claim(self, which: int, limit: int) -> None:
        worker = self.workers[which]
        due = {
            hook: sorted(one.due for _, one in self._free(hook) if one.due <= self.world.now)
            for hook in self.hooks
        }
        claimed, next_due = self.world.store.write_sync(
            deliveries.claim, self.hooks, worker.lease, limit
        )
        taken: dict[int, list[int]] = {hook: [] for hook in self.hooks}
        for one in claimed:
            expected = self.model[one.id]
            assert (expected.lease, expected.state) == (None, WAITING)
            assert (expected.hook, expected.attempts) == (one.hook_id, one.attempts)
            taken[one.hook_id].append(expected.due)
            expected.lease = worker.lease
            worker.hand.append((worker.lease, one))
        # Only due times are compared: the engine orders deliveries that are due at the same moment.
        assert taken == {hook: times[:limit] for hook, times in due.items()}
        assert next_due == self._next_due()

    @rule(
        which=WORKERS,
        many=st.integers(1, 4),
        states=st.lists(st.sampled_from([WAITING, DELIVERED, DEAD]), min_size=4, max_size=4),
        delay=st.sampled_from([0, 5, 300]),
    )
    def outcomes_are_recorded(self, which: int, many: int, states: list[int], delay: int) -> None:
        worker = self.workers[which]
        done, worker.hand = worker.hand[:many], worker.hand[many:]
        due = self.world.now + delay * SECOND
        # A delivery that was claimed twice would have two outcomes, and either could count. So the
        # dictionary keeps one of them.
        outcomes = {
            one.id: (lease, one, state) for (lease, one), state in zip(done, states, strict=False)
        }
        self.world.store.write_sync(
            record, [self._outcome(*given, due) for given in outcomes.values()]
        )

    def _outcome(self, lease: int, one: ClaimedDelivery, state: int, due: int) -> Outcome:
        expected = self.model[one.id]
        # A success counts even after its lease has ended, unless another lease has the delivery.
        arrived = state == DELIVERED and expected.state == WAITING and expected.lease is None
        if expected.lease == lease or arrived:
            expected.lease, expected.state = None, state
            expected.due, expected.attempts = due, one.attempts + 1
        code = 200 if state == DELIVERED else 500
        return self.world.outcome(lease, one, state=state, due_at=due, status_code=code)

    @rule(which=WORKERS, many=st.integers(1, 3))
    def give_back(self, which: int, many: int) -> None:
        worker = self.workers[which]
        back, worker.hand = worker.hand[:many], worker.hand[many:]
        for lease, one in back:
            own = self.model[one.id].lease == lease
            assert self.world.store.write_sync(deliveries.release, lease, [one.id]) == own
            if own:
                self.model[one.id].lease = None

    @rule(which=WORKERS)
    def bury(self, which: int) -> None:
        worker = self.workers[which]
        if worker.hand:
            lease, one = worker.hand.pop()
            expected = self.model[one.id]
            own = expected.lease == lease
            assert self.world.store.write_sync(deliveries.mark_dead, lease, [one.id], "gone") == own
            if own:
                expected.lease, expected.state, expected.due = None, DEAD, self.world.now

    # How leases end.

    @rule(which=WORKERS)
    def end(self, which: int) -> None:
        lease = self.workers[which].lease
        held = self._end(lambda one: one == lease)
        assert self.world.store.write_sync(leases.release, lease) == held

    @rule()
    def end_expired(self) -> None:
        ended = {lease for lease, expires in self.leases.items() if expires <= self.world.now}
        held = self._end(lambda one: one in ended or one not in self.leases)
        assert self.world.store.write_sync(leases.release_expired) == held
        assert all(row["lease_id"] in {None, *self.leases} for row in self.world.rows())

    @rule(which=WORKERS, claiming=st.booleans())
    def sleep(self, which: int, claiming: bool) -> None:
        """A worker sleeps while its lease ends and the other worker claims its deliveries."""
        self.claim(which, 3)
        self.world.clock.advance(31)
        self.end_expired()
        self.take(1 - which)
        self.claim(1 - which, 3)
        if claiming:
            self.claim(which, 3)

    def _end(self, ends: Callable[[int], bool]) -> int:
        self.leases = {lease: at for lease, at in self.leases.items() if not ends(lease)}
        freed = [one for one in self.model.values() if one.lease is not None and ends(one.lease)]
        for one in freed:
            one.lease = None
        return len(freed)

    # Invariants.

    def _free(self, hook: int) -> list[tuple[int, Expected]]:
        return [
            (id_, one)
            for id_, one in self.model.items()
            if one.hook == hook and one.state == WAITING and one.lease is None
        ]

    def _next_due(self) -> dict[int, int]:
        return {
            hook: min(one.due for _, one in free)
            for hook in self.hooks
            if (free := self._free(hook))
        }

    @invariant()
    def the_store_is_as_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        stored, waiting = self.world.store.read_sync(_stored)
        assert stored == self.model
        assert waiting == self._next_due()
        assert all(one.state == WAITING for one in stored.values() if one.lease is not None)

    def teardown(self) -> None:
        """After any steps, a worker that starts later delivers everything that is left."""
        if not hasattr(self, "model"):
            return
        self.world.clock.advance(3600)
        self.end_expired()
        self.take(0)
        self.workers[0].hand.clear()
        while self.world.store.read_sync(deliveries.waiting_hooks):
            self.claim(0, 3)
            self.outcomes_are_recorded(0, 6, [DELIVERED] * 6, 0)
        self.the_store_is_as_the_model()
        assert all(one.state in (DELIVERED, DEAD) for one in self.model.values())
        assert all(one.lease is None for one in self.model.values())


def _stored(db: Connection) -> tuple[dict[int, Expected], dict[int, int]]:
    rows = db.tuples("SELECT id, hook_id, due_at, lease_id, state, attempts FROM delivery")
    return {row[0]: Expected(*row[1:]) for row in rows}, deliveries.waiting_hooks(db)


def _empty(db: Connection) -> None:
    for table in ("attempt", "delivery", "event", "subscription", "hook", "lease"):
        db.execute(f"DELETE FROM {table}")


def test_every_delivery_arrives_dies_or_waits(world: World) -> None:
    play(Queue, world, (20, 250, 10), steps=30)
