"""A store with one repository, a worker on it, a scripted network, and functions for tests."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clock_helpers import keep_lease
from engines import open_furnished
from receivers import LOOPBACK
from waiting import until

from store import Row, Store
from store.accounts import accounts
from store.clock import SECOND, MovableClock, parse
from store.delivery import attempts, delivery_queries, events
from store.delivery.delivery_queries import STATES
from store.delivery.incoming import IncomingEvent, Receipt
from store.hooks import hooks
from store.repositories import repositories as repos
from store.tracing import Tracer
from worker.http.answer import MAX_BODY, ExchangeResult, Withheld
from worker.http.endpoint import Endpoint
from worker.http.tls_contexts import TlsChoice
from worker.job_table import refuse_publish
from worker.jobs.republish import SnapshotPublisher
from worker.service import Worker
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS, Tuning

START = parse("2026-11-21T07:33:00Z")


async def settle(turns: int = 50) -> None:
    """Give the tasks of the event loop time to run. Tests call it before they check an absence."""
    for _ in range(turns):
        await asyncio.sleep(0.001)


def said(
    status: int | None = 200, *, body: bytes = b"ok", head: bytes = b"", error: str | None = None
) -> ExchangeResult:
    """Return an answer as the transport would. If `error` is given, `status` defaults to None."""
    answer = ExchangeResult()
    answer.status = None if error is not None and status == 200 else status
    answer.head, answer.error = head, error
    answer.body = b"" if answer.status is None else body
    answer.address = "192.0.2.1"
    answer.timings = {"total": 1000}
    return answer


@dataclass
class Post:
    """A request that the worker handed to the network."""

    endpoint: Endpoint
    head: bytes
    body: bytes
    deadline: float
    verify_tls: TlsChoice

    @property
    def host(self) -> str:
        return self.endpoint.host

    @property
    def headers(self) -> dict[str, str]:
        """The headers, with names in lower case. Each name must occur once."""
        lines = self.head.decode("latin-1").split("\r\n")[1:-2]
        found = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        assert len(found) == len(lines), "a header is sent twice"
        return found

    @property
    def guid(self) -> str:
        return self.headers["x-github-delivery"]


Script = Callable[[Post], ExchangeResult | Awaitable[ExchangeResult]]


class Network:
    """An HttpSender that records each request in `posts` and returns the answer of `script`."""

    def __init__(self, script: Script | None = None) -> None:
        self.script: Script = script or (lambda post: said())
        self.posts: list[Post] = []
        self.in_flight: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        """The most requests that were in flight at once, by host. The key `""` counts all hosts."""
        self.addresses: dict[str, str] = {}
        """The addresses of hosts, for tests of the limit that each machine has."""

    async def post(
        self,
        endpoint: Endpoint,
        head: bytes,
        body: bytes,
        *,
        deadline: float,
        verify_tls: TlsChoice = True,
        keep: int = MAX_BODY,
        may_send: Callable[[], bool] | None = None,
        may_reach: Callable[[str], bool] | None = None,
        spent: float = 0.0,
    ) -> ExchangeResult:
        assert keep == MAX_BODY
        address = self.addresses.get(endpoint.host)
        if may_reach is not None and address is not None and not may_reach(address):
            raise Withheld
        if may_send is not None and not may_send():
            raise Withheld
        post = Post(endpoint, head, body, deadline, verify_tls)
        self.posts.append(post)
        for name in ("", post.host):
            self.in_flight[name] += 1
            self.most[name] = max(self.most[name], self.in_flight[name])
        try:
            await asyncio.sleep(0)
            answer = self.script(post)
            return answer if isinstance(answer, ExchangeResult) else await answer
        finally:
            for name in ("", post.host):
                self.in_flight[name] -= 1

    def to(self, host: str) -> list[Post]:
        """The requests to a host, in order."""
        return [post for post in self.posts if post.host == host]


@dataclass
class Gate:
    """A script that holds requests to `hosts` back until `opened` is set, and answers others."""

    hosts: Iterable[str]
    answer: Callable[[], ExchangeResult] = said
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, post: Post) -> ExchangeResult:
        if post.host in self.hosts:
            await self.opened.wait()
            return self.answer()
        return said()


# These tests have no outage, so a starting worker need not spare the leases of others.
PROMPT = Tuning(outage_grace=0.0)


class WorkerHarness:
    """A store with the repository ada/engine, and at most one worker on it."""

    def __init__(
        self,
        folder: Path,
        clock: MovableClock | None = None,
        url: str = "sqlite",
        tuning: Tuning = PROMPT,
    ) -> None:
        self.folder = folder
        self.url = url
        self.clock = clock or MovableClock(START)
        self.store = self.another_store()
        self.network = Network()
        self.tuning = tuning
        """The tuning of every worker that `work` starts."""
        self.worker: Worker | None = None
        self._lost: list[Store] = []
        self._numbers = itertools.count(1)
        owner = self.store.write_sync(_owner)
        self.repo = self.store.write_sync(_repository, owner["id"])

    def another_store(self) -> Store:
        """Open the same database again, as another process would."""
        return open_furnished(self.url, self.folder, self.clock)

    # Starting and stopping the worker, and its clock.

    async def work(
        self,
        *,
        real: bool = False,
        guard: Any = None,
        tracer: Tracer | None = None,
        senders: int = 0,
        publish: SnapshotPublisher = refuse_publish,
        **settings: Any,
    ) -> Worker:
        """Start the worker with these settings, on sockets if `real`, else on `network`."""
        chosen = WorkerSettings.model_validate({"allow_networks": LOOPBACK, "jitter": 0} | settings)
        sender = None if real else self.network
        self.worker = Worker(
            self.store,
            chosen,
            guard=guard,
            sender=sender,
            tuning=self.tuning,
            tracer=tracer,
            senders=senders,
            publish=publish,
        )
        await self.worker.start()
        return self.worker

    async def rest(self) -> None:
        """Stop the worker, and check that no delivery is still leased."""
        if self.worker is not None:
            worker, self.worker = self.worker, None
            await worker.stop()
            assert not self.leased(), "something is still leased"

    def crash(self) -> None:
        """End the worker and its store without any cleanup, as `kill -9` does.

        `store` is then a new connection to the database.
        """
        worker, self.worker = self.worker, None
        assert worker is not None
        worker.abort()
        self.store.abort()
        self._lost.append(self.store)
        self.outlive()
        self.store = self.another_store()

    def outlive(self) -> None:
        """Move the clock past the end of the leases, if other workers have to wait for that."""
        if not self.store.engine.single_worker:
            self.clock.advance(DEFAULTS.lease / SECOND)

    async def close(self) -> None:
        try:
            await self.rest()
        finally:
            for store in (self.store, *self._lost):
                await store.close()

    async def advance(self, seconds: float) -> None:
        """Move the clock and extend the lease, as the worker's polls would do in that time."""
        assert self.worker is not None
        await keep_lease(self.worker, self.store, seconds)
        self.clock.advance(seconds)

    async def pass_time(self, seconds: float) -> None:
        """Move the clock, and let the worker claim the deliveries that are due by then."""
        await self.advance(seconds)
        assert self.worker is not None
        await self.worker.lease.scan()
        claimer = self.worker.dispatcher.claimer
        await until(lambda: claimer.idle)
        for _ in range(10):
            await asyncio.sleep(0)

    # Hooks and events.

    def hook(self, url: str | None = None, **given: Any) -> int:
        given = {"events": ["push"], "content_type": "json"} | given
        number = next(self._numbers)
        url = url or f"https://h{number}.example/hook"
        target = given.pop("target", self.repo["id"])
        return int(self.store.write_sync(hooks.create, target, url=url, **given)["id"])

    def edit(self, hook_id: int, **changes: Any) -> None:
        self.store.write_sync(lambda db: hooks.update(db, _hook(db, hook_id), **changes))

    def arrival(
        self, body: bytes = b"{}", name: str = "push", guid: str | None = None, **given: Any
    ) -> IncomingEvent:
        guid = guid or f"guid-{next(self._numbers)}"
        return IncomingEvent(self.repo["id"], guid, self.repo["id"], name, body, **given)

    async def event(self, body: bytes = b"{}", name: str = "push", **given: Any) -> Receipt:
        """Store one event, as the hub does when it accepts one."""
        return await self._accept(self.store, self.arrival(body, name, **given))

    async def events(self, count: int, store: Store | None = None) -> list[Receipt]:
        """Store `count` events concurrently."""
        made = [self.arrival() for _ in range(count)]
        return await asyncio.gather(*(self._accept(store or self.store, one) for one in made))

    async def _accept(self, store: Store, arrival: IncomingEvent) -> Receipt:
        receipt = await store.batch(events.accept, arrival, weight=len(arrival.body))
        assert isinstance(receipt, Receipt)
        return receipt

    # The state that tests check.

    def deliveries(self, **chosen: Any) -> list[Row]:
        """All deliveries, or the chosen ones, oldest first."""
        return self.store.read_sync(delivery_queries.page, limit=100_000, **chosen)[::-1]

    def states(self, hook_id: int | None = None) -> Counter[str]:
        of_hook = "" if hook_id is None else "WHERE hook_id = :id"
        sql = f"SELECT state, count(*) FROM delivery {of_hook} GROUP BY state"
        found = self.store.read_sync(lambda db: db.tuples(sql, id=hook_id))
        return Counter({STATES[state]: many for state, many in found})

    def counts(self) -> dict[str, int]:
        return self.store.read_sync(delivery_queries.count_by_state)

    def leased(self) -> list[Row]:
        return [row for row in self.deliveries() if row["lease_id"] is not None]

    async def all_returned(self) -> None:
        """Wait until no delivery is leased: the worker has returned all waiting ones to the store.

        The worker may claim a delivery before it reads that the hook is held back.
        """
        await until(lambda: not self.leased(), "no delivery under a lease")

    def attempts(self, hook_id: int) -> list[Row]:
        """The hook's attempts, oldest first, with the recorded requests and responses."""
        rows = self.store.read_sync(attempts.page, hook_id, limit=100_000)[::-1]
        found = [self.store.read_sync(attempts.get, hook_id, row["id"]) for row in rows]
        return [row for row in found if row is not None]

    def hook_row(self, hook_id: int) -> Row:
        return self.store.read_sync(_hook, hook_id)

    async def recorded(self, hook_id: int, count: int) -> list[Row]:
        """Wait until the hook has at least `count` attempts, and return them, oldest first."""
        seen: list[Row] = []

        def there() -> bool:
            seen[:] = self.store.read_sync(attempts.page, hook_id, limit=count + 1)
            return len(seen) >= count

        await until(there, f"{count} attempts")
        return self.attempts(hook_id)

    async def over(self, **wanted: int) -> None:
        """Wait until exactly these numbers of deliveries are in each state."""
        expected = {"waiting": 0, "delivered": 0, "dead": 0, "filtered": 0} | wanted
        try:
            await until(lambda: self.counts() == expected)
        except AssertionError:
            raise AssertionError(f"{self.counts()}, not {expected}") from None


def _owner(db: Any) -> Row:
    return accounts.by_login(db, "ada") or accounts.create(db, "ada")


def _repository(db: Any, owner_id: int) -> Row:
    return repos.find(db, "ada", "engine") or repos.create(db, owner_id, "engine")


def _hook(db: Any, hook_id: int) -> Row:
    row = hooks.by_id(db, hook_id)
    assert row is not None
    return row
