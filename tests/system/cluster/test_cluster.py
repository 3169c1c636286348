"""Three hubs and three workers on one PostgreSQL, while processes and the database are killed."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from cluster_database import Server, own_server
from cluster_processes import Deployment, Installation, Receipt, Receiver, receiving
from cluster_sender import Sender, payload
from ports import free_port
from repeats import AT_A_KILL, Record, Repeats, Sending, repeats
from thoroughness import often
from waiting import PATIENCE, Stopwatch, until, until_all, wait_until

from hub.cli.console.exits import LATER
from store import Connection, open_store
from store.accounts import accounts, tokens
from store.hooks import hooks
from store.repositories import repositories

EVENTS = often(8_000, 40_000)
SUBSCRIBERS = 5
ALONE = EVENTS // 5
BATCH = 50
CONNECTIONS = 32
ATTEMPTS = (
    "SELECT e.guid, substring(a.url from '/[0-9]+$'),"
    " substring(a.request_head from 'User-Agent: ([^\r]+)'), a.status_code = 200"
    " FROM attempt a JOIN event e ON e.id = a.event_id"
)
HOLDERS = "SELECT holder FROM lease"
# The bound of the time from acceptance to delivery, in durations of an acceptance. A worker that
# polled every few seconds would exceed it. The benchmarks measure the actual time.
WAKE_UP = 50


@dataclass
class Kills:
    """The processes that were killed."""

    workers: set[str] = field(default_factory=set)
    """The user agents of the workers."""
    database: float = 0.0
    """The time when the database was back, in seconds since the epoch."""

    def that_lost(self, receipt: Receipt) -> str | None:
        """Return the kill after which the outcome of this delivery may be unrecorded, or None."""
        if receipt.at <= self.database:
            return "database"
        return receipt.agent if receipt.agent in self.workers else None


def seed(db: Connection, receiver: str) -> str:
    """Create the repository ada/bell with its hooks. Return a token that may push to it."""
    ada = accounts.create(db, "ada")
    repo = repositories.create(db, ada["id"], "bell")
    for number in range(SUBSCRIBERS):
        hooks.create(
            db,
            repo["id"],
            url=f"{receiver}/{number}",
            events=["push"],
            content_type="json",
            secret="ring the bells",
        )
    return tokens.create(db, ada["id"], scopes=["repo"])[0]


class Cluster(Deployment):
    def __init__(
        self, installation: Installation, server: Server, receiver: Receiver, token: str
    ) -> None:
        super().__init__(installation, server, receiver, token)
        self.ports = [free_port() for _ in range(3)]
        self.kills = Kills()
        self.killed: set[int] = set()
        """The process ids of the killed workers."""
        self.sender = Sender(self.ports, "ada/bell", token)

    def start(self) -> None:
        for number, port in enumerate(self.ports):
            self.installation.hub(f"hub{number}", port)
            self.installation.worker(f"worker{number}")
        self.installation.at_work()

    async def kill_hub(self, number: int) -> None:
        self.installation.running[f"hub{number}"].kill()

    async def kill_worker(self, number: int) -> None:
        process = self.installation.running[f"worker{number}"]
        process.kill()
        self.killed.add(process.popen.pid)
        self.kills.workers.add(process.name)

    async def crash_database(self) -> None:
        await asyncio.to_thread(self.server.stop, "immediate")
        await asyncio.to_thread(self.server.start)
        self.kills.database = time.time()

    async def at(self, share: float, what: Callable[[], Awaitable[None]]) -> None:
        """Call `what` once this share of the events is accepted."""
        while len(self.sender.accepted) < share * EVENTS:  # noqa: ASYNC110 - other processes do it
            await asyncio.sleep(0.01)
        await what()

    async def chaos(self) -> None:
        await self.at(0.10, lambda: self.kill_worker(0))
        await self.at(0.20, lambda: self.kill_hub(0))
        await self.at(0.30, lambda: self.kill_worker(1))
        await self.at(0.40, lambda: self.kill_hub(1))
        await self.at(0.50, self.crash_database)
        await self.at(0.65, lambda: self.kill_worker(2))
        await self.at(0.75, lambda: self.kill_hub(2))
        await self.at(0.85, lambda: self.kill_worker(0))

    async def run(self) -> None:
        guids = [f"event-{number:05}" for number in range(EVENTS)]
        self.sender.give(guids[:ALONE])
        self.sender.give(guids[ALONE:], BATCH)
        async with asyncio.TaskGroup() as group:
            supervisor = group.create_task(self.supervise())
            group.create_task(self.chaos())
            group.create_task(self.sender.run(CONNECTIONS))
            await until_all(self.arrived, EVENTS * SUBSCRIBERS, "deliveries")
            # The process that was started last may still fail because the database is away, or may
            # not handle signals yet.
            await until(self.installation.all_at_work, self.installation.last_lines)
            supervisor.cancel()

    async def supervise(self) -> None:
        """Restart processes that were killed, or ended because the database was away.

        Nothing else restarts a process. A second restart would leave a hub that holds the port.
        """
        while True:
            await asyncio.sleep(0.5)
            for name, process in list(self.installation.running.items()):
                if process.popen.poll() in (LATER, -signal.SIGKILL):
                    self.start_again(name)

    def start_again(self, name: str) -> None:
        kind, number = name[:-1], int(name[-1])
        if kind == "hub":
            self.installation.hub(name, self.ports[number])
        else:
            self.installation.worker(name)

    def arrived(self) -> int:
        return len(self.receiver.arrived())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with own_server(max_connections=100) as server, receiving(tmp_path) as receiver:
        store = open_store(server.url(), data_dir=tmp_path)
        token = store.write_sync(seed, receiver.url)
        store.shut()
        installation = Installation(tmp_path, server.url())
        try:
            yield Cluster(installation, server, receiver, token)
        finally:
            installation.close()


def repeated(cluster: Cluster) -> Repeats:
    """The deliveries that came more than once."""
    record = Record()
    for guid, path, agent, delivered in cluster.server.sql(ATTEMPTS):
        record.add(Sending(guid + path, agent), delivered=bool(delivered))
    receipts = sorted(cluster.receiver.look(), key=lambda one: one.at)
    that_lost = cluster.kills.that_lost
    return repeats(
        ((Sending(one.guid + one.path, one.agent), that_lost(one)) for one in receipts), record
    )


def test_nothing_is_lost_and_nothing_that_was_recorded_is_sent_twice(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.start()
    taken = Stopwatch()
    asyncio.run(cluster.run())
    took = taken.seconds()
    codes = [process.end() for process in cluster.installation.running.values()]
    receipts = cluster.receiver.look()
    again = repeated(cluster)
    with capsys.disabled():
        print(
            f"\n{len(cluster.sender.accepted)} events, {len(receipts)} deliveries in {took:.1f} s;"
            f" sent again as nothing was recorded {len(again.lost)}, at most"
            f" {again.most_at_a_kill} of a worker, otherwise {len(again.wrong)};"
            f" answers {dict(cluster.sender.statuses)}"
        )
    assert len(cluster.sender.accepted) == EVENTS
    assert len({(one.guid, one.path) for one in receipts}) == EVENTS * SUBSCRIBERS, "lost"
    assert again.wrong == []
    assert again.most_at_a_kill <= AT_A_KILL
    assert codes == [0] * 6
    states = "SELECT state, lease_id IS NULL, count(*) FROM delivery GROUP BY 1, 2"
    assert cluster.server.sql(states) == [(1, True, EVENTS * SUBSCRIBERS)]
    # The hubs' own events report what the kills did to the hooks.
    sent = "SELECT count(*) FROM event WHERE name NOT IN ('hook', 'delivery', 'backlog')"
    assert cluster.server.sql(sent) == [(EVENTS,)]
    # Only killed workers may still have a lease, which expires.
    left = {int(holder.rpartition(":")[2]) for (holder,) in cluster.server.sql(HOLDERS)}
    assert left <= cluster.killed


def test_an_event_reaches_its_receiver_soon_after_acceptance(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hub, worker and receiver are separate processes."""
    cluster.installation.hub("hub0", cluster.ports[0])
    cluster.installation.worker("worker0")
    cluster.installation.at_work()
    accepting, half, most = took(cluster, range(100))
    with capsys.disabled():
        print(f"\nfrom accepted to received: p50 {half:.1f} ms, p95 {most:.1f} ms")
    assert half < WAKE_UP * accepting
    assert [process.end() for process in cluster.installation.running.values()] == [0, 0]


def took(cluster: Cluster, numbers: range) -> tuple[float, float, float]:
    """Post events one after the other. Return milliseconds: p50 to the acceptance, and p50 and p95
    from the acceptance to the arrival.
    """
    accepted: dict[str, float] = {}
    accepting: list[float] = []
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{cluster.ports[0]}/ada/bell/events/push"
    with httpx.Client(headers=headers, trust_env=False, timeout=PATIENCE) as client:
        for number in numbers:
            guid = f"event-{number}"
            taken = Stopwatch()
            answer = client.post(url, content=payload(guid), headers={"X-GitHub-Delivery": guid})
            assert answer.is_success
            accepting.append(taken.seconds() * 1000)
            accepted[guid] = time.time()
            time.sleep(0.02)
    wait_until(lambda: cluster.arrived() == numbers.stop * SUBSCRIBERS, "deliveries")
    receipts = [one for one in cluster.receiver.receipts if one.guid in accepted]
    times = sorted((one.at - accepted[one.guid]) * 1000 for one in receipts)
    half = sorted(accepting)[len(accepting) // 2]
    return half, times[len(times) // 2], times[len(times) * 95 // 100]
