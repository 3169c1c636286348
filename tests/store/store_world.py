"""Helpers for tests of the store: a small world, outcomes, a fake notifier and spied sessions."""

import contextlib
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from waiting import PATIENCE

from store import Connection, Row, Store
from store.accounts import accounts
from store.clock import HOUR, SECOND, MovableClock
from store.database.notifications import LeasedEvent
from store.delivery import deliveries, events, leases
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.incoming import IncomingEvent, Receipt
from store.delivery.outcomes.outcome import Outcome
from store.hooks import hooks
from store.ordering.delivery_states import DEAD, DELIVERED, FILTERED, WAITING
from store.repositories import repositories

START = 1_795_246_380_000_000
"""2026-11-21T07:33:00Z"""
URL = "https://receiver.example/hook"


@dataclass
class World:
    """A store with a user and a repository, and shortcuts for common operations."""

    store: Store
    clock: MovableClock
    user: Row
    repo: Row

    @property
    def now(self) -> int:
        return self.clock.now()

    def another_repo(self, name: str = "other", **given: Any) -> Row:
        return self.store.write_sync(repositories.create, self.user["id"], name, **given)

    def hook(self, *names: str, repo: Row | None = None, **given: Any) -> Row:
        given.setdefault("url", f"{URL}/{self.store.read_sync(_hooks)}")
        repo_id = (repo or self.repo)["id"]
        return self.store.write_sync(hooks.create, repo_id, events=names or ["push"], **given)

    def arrival(self, guid: str = "g-1", **given: Any) -> IncomingEvent:
        repo_id = given.pop("repo_id", self.repo["id"])
        given = {"name": "push", "body": b'{"ref":"main"}', "scope": repo_id} | given
        return IncomingEvent(guid=guid, repo_id=repo_id, **given)

    def arrive(self, guid: str = "g-1", **given: Any) -> Receipt:
        (receipt,) = self.store.write_sync(events.accept_all, [self.arrival(guid, **given)])
        return receipt

    def lease(self, lifetime: int = HOUR) -> int:
        return self.store.write_sync(leases.acquire, "tests", lifetime)

    def claim(self, lease_id: int, *hook_ids: int, limit: int = 100) -> list[ClaimedDelivery]:
        claimed, _ = self.store.write_sync(deliveries.claim, hook_ids, lease_id, limit)
        return claimed

    def row(self, delivery_id: int) -> Row:
        """The delivery as it is stored."""
        row = self.store.read_sync(_delivery, delivery_id)
        assert row is not None
        return row

    def rows(self) -> list[Row]:
        """Every delivery, oldest first."""
        return self.store.read_sync(_deliveries)

    def outcome(self, lease_id: int, claimed: ClaimedDelivery, **given: Any) -> Outcome:
        """A successful attempt that took a second. `given` changes its values."""
        given.setdefault("number", claimed.attempts + 1)
        hook = self.store.read_sync(hooks.by_id, claimed.hook_id)
        given.setdefault("url", URL if hook is None else hook["url"])
        given.setdefault("version", claimed.version)
        return Outcome(
            lease_id=lease_id,
            delivery_id=claimed.id,
            hook_id=claimed.hook_id,
            event_id=claimed.event_id,
            repo_id=given.pop("repo_id", self.repo["id"]),
            redelivery=claimed.redelivery,
            **(SUCCESS | {"started_at": self.now, "due_at": self.now} | given),
        )

    def failure(self, lease_id: int, claimed: ClaimedDelivery, **given: Any) -> Outcome:
        """A failed attempt with status 500 and a retry in a minute. `given` changes its values."""
        given = {"state": WAITING, "status_code": 500, "due_at": self.now + 60 * SECOND} | given
        return self.outcome(lease_id, claimed, **given)


SUCCESS = {
    "duration": SECOND,
    "status_code": 200,
    "error": None,
    "address": "192.0.2.1:443",
    "timings": '{"connect":1000}',
    "request_head": "POST /hook HTTP/1.1\r\nContent-Type: application/json",
    "response_head": "Content-Length: 2",
    "response_body": "ok",
    "state": DELIVERED,
}
STATES = {WAITING: "waiting", DELIVERED: "delivered", DEAD: "dead", FILTERED: "filtered"}


def make_world(store: Store, clock: MovableClock) -> World:
    user = store.write_sync(accounts.create, "ada")
    return World(store, clock, user, store.write_sync(repositories.create, user["id"], "engine"))


def _hooks(db: Connection) -> int:
    found: int = db.value("SELECT count(*) FROM hook")
    return found


def _delivery(db: Connection, delivery_id: int) -> Row | None:
    return db.one("SELECT * FROM delivery WHERE id = :id", id=delivery_id)


def _deliveries(db: Connection) -> list[Row]:
    return db.all("SELECT * FROM delivery ORDER BY id")


@dataclass
class FakeNotifier:
    """Stands in for the notifier of a worker, and records the store's calls."""

    held: int | None = None
    filled: set[int] = field(default_factory=set)
    offers: list[LeasedEvent] = field(default_factory=list)
    woken: list[int] = field(default_factory=list)

    def lease(self) -> int | None:
        return self.held

    def full(self) -> Collection[int]:
        return frozenset(self.filled)

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        self.offers.extend(offers)

    def wake(self, hooks: Iterable[int]) -> None:
        self.woken.extend(sorted(hooks))

    def due(self, hooks: Iterable[int]) -> None:
        self.wake(hooks)

    def arrived(self) -> None:
        pass


class SpiedSession:
    """A session that records its transactions in a `Spy` and raises the errors of the spy."""

    def __init__(self, session: Any, spy: "Spy") -> None:
        self._session = session
        self._spy = spy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def begin(self, now: int, *, write: bool, durable: bool = True, bounded: bool = False) -> None:
        self._session.begin(now, write=write, durable=durable, bounded=bounded)
        self._write = write
        if write:
            self._spy.begun.append(durable)

    def commit(self) -> None:
        self._spy.fail("commit")
        self._session.commit()
        self._spy.commits += self._write

    def rollback(self) -> None:
        self._spy.fail("rollback")
        self._session.rollback()


class Spy:
    """Watches the sessions that a store opens from now on."""

    def __init__(self, store: Store) -> None:
        self.begun: list[bool] = []
        """For each write transaction, whether it had to be durable."""
        self.commits = 0
        """The number of committed write transactions."""
        self.opened = 0
        self.failing: dict[str, Exception] = {}
        """Maps `session`, `commit` or `rollback` to the error that its next call raises, once."""
        self._real = store.engine.session
        store.engine.session = self._session  # type: ignore[method-assign] # That is the purpose.

    def fail(self, name: str) -> None:
        error = self.failing.pop(name, None)
        if error is not None:
            raise error

    def _session(self) -> Any:
        self.fail("session")
        self.opened += 1
        return SpiedSession(self._real(), self)


class Gate:
    """A write that blocks the writer's thread until the gate is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._reached = threading.Event()

    def __call__(self, db: Connection) -> str:
        self._reached.set()
        assert self._open.wait(PATIENCE), "the gate was not opened"
        return "through"

    def reached(self) -> bool:
        return self._reached.wait(PATIENCE)

    def open(self) -> None:
        self._open.set()

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.open()
