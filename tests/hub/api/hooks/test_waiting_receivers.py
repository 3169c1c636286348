"""Requests that stay open until a delivery is due, over real connections."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from hub_client import judge
from waiting import PATIENCE, until

from hub.admin.observability import Observability
from hub.app import create_app
from hub.cli.http_server.server import bind, serving, url_of
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.hook_state import hook_pauses
from store.hooks import hooks
from store.pull.fetching import Fetch, FetchedDelivery
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings


class Hub:
    """A hub on a socket, with a pull hook of octo/hello."""

    def __init__(self, store: Store, seed: Any, observability: Observability, url: str) -> None:
        self.store, self.observability, self.url = store, observability, url
        self.headers = {"Authorization": f"Bearer {seed.token}", "User-Agent": "tests"}
        made = store.write_sync(hooks.create, seed.hello["id"], url="pull:ci", events=["push"])
        self.hook_id: int = made["id"]
        self.path = f"/repos/octo/hello/hooks/{self.hook_id}"

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers=self.headers, timeout=PATIENCE)

    async def waiting(self, many: int) -> None:
        await until(lambda: self.store.wakeups.count(self.hook_id) == many)

    async def ask(self, max_wait: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request for deliveries. Return its connection."""
        address = httpx.URL(self.url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        body = orjson.dumps({"max_wait": max_wait})
        head = [f"POST {self.path}/dequeue HTTP/1.1", "Host: hub", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in self.headers.items()]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        return reader, writer

    async def wait_and_leave(self) -> None:
        """Send a request that waits for a delivery. Disconnect once the hub waits."""
        _, writer = await self.ask(60)
        await self.waiting(1)
        writer.close()
        await writer.wait_closed()


@pytest.fixture
def settings() -> HubSettings:
    return HubSettings(rate_limiting=False)


@pytest.fixture
async def served(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[Hub]:
    observability = Observability(store)
    pull_queue = FetchQueue(WorkerSettings())
    app = create_app(store, settings, judge, observability=observability, pull_queue=pull_queue)
    bound = bind("127.0.0.1", 0)
    async with serving(app, bound, last_call=0):
        yield Hub(store, seed, observability, url_of(bound))
    await store.close()


async def test_nothing_is_handed_to_a_client_that_has_left(served: Hub) -> None:
    await served.wait_and_leave()
    await served.waiting(0)
    async with served.client() as client:
        await client.post("/octo/hello/events/push", json={"ref": "main"})
        answer = await client.post(f"{served.path}/dequeue", json={})
        assert len(answer.json()["deliveries"]) == 1


@pytest.mark.parametrize("waits", [False, True])
async def test_nothing_is_handed_to_a_waiting_client_that_sends_nothing_more(
    served: Hub, waits: bool
) -> None:
    """Such a client may have left. It ends its side before the hub waits, or afterwards."""
    reader, writer = await served.ask(60)
    if waits:
        await served.waiting(1)
    writer.write_eof()
    async with asyncio.timeout(PATIENCE):
        assert await reader.read() == b""
    await served.waiting(0)
    async with served.client() as client:
        await client.post("/octo/hello/events/push", json={"ref": "main"})
        answer = await client.post(f"{served.path}/dequeue", json={})
        assert len(answer.json()["deliveries"]) == 1
    writer.close()


async def test_a_client_that_sends_nothing_more_gets_due_deliveries(served: Hub) -> None:
    async with served.client() as client:
        await client.post("/octo/hello/events/push", json={"ref": "main"})
    reader, writer = await served.ask(60)
    writer.write_eof()
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b'"guid"') == 1
    writer.close()


async def test_several_wait_and_each_delivery_goes_to_one(served: Hub) -> None:
    async with served.client() as client:
        asked = [
            asyncio.create_task(client.post(f"{served.path}/dequeue", json={"max_wait": 60}))
            for _ in range(3)
        ]
        await served.waiting(3)
        for _ in range(3):
            await client.post("/octo/hello/events/push", json={"ref": "main"})
        answers = [(await one).json()["deliveries"] for one in asked]
    assert len({one["guid"] for found in answers for one in found}) == 3


async def test_a_waiting_receiver_is_answered_when_the_hub_ends(served: Hub) -> None:
    async with served.client() as client:
        path = f"{served.path}/dequeue"
        asked = asyncio.create_task(client.post(path, json={"max_wait": 60}))
        await served.waiting(1)
        served.observability.phase = "ending"
        assert (await asked).json() == {"deliveries": []}


@pytest.mark.parametrize("settings", [HubSettings(most_concurrent=1)])
async def test_a_waiting_receiver_is_no_concurrent_request(served: Hub) -> None:
    async with served.client() as client:
        path = f"{served.path}/dequeue"
        asked = asyncio.create_task(client.post(path, json={"max_wait": 60}))
        await served.waiting(1)
        # The first look for a delivery may still be under way.
        statuses = []
        while 200 not in statuses and len(statuses) < 1000:
            statuses.append((await client.get("/repos/octo/hello")).status_code)
        assert statuses[-1] == 200
        assert not asked.done()
        await client.post("/octo/hello/events/push", json={"ref": "main"})
        answer = await asked
        assert (answer.status_code, len(answer.json()["deliveries"])) == (200, 1)
        # Its place was given back once, and not again at its end.
        assert (await client.get("/repos/octo/hello")).status_code == 200


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hook of each look for deliveries in the store."""
    looks: list[int] = []
    fetch = FetchQueue.fetch

    def counted(
        queue: FetchQueue, db: Connection, hook: Row, wanted: Fetch
    ) -> list[FetchedDelivery]:
        looks.append(hook["id"])
        return fetch(queue, db, hook, wanted)

    monkeypatch.setattr(FetchQueue, "fetch", counted)
    return looks


async def limited(served: Hub, client: httpx.AsyncClient) -> int:
    """Limit the hook to one lease, and lease one of two deliveries. Return the lease's id."""
    await client.patch(served.path, json={"delivery": {"concurrency": 1}})
    for _ in range(2):
        await client.post("/octo/hello/events/push", json={"ref": "main"})
    (leased,) = (await client.post(f"{served.path}/dequeue", json={})).json()["deliveries"]
    return int(leased["lease_id"])


@pytest.mark.parametrize("cause", ["pause", "room", "retry-after"])
async def test_a_receiver_that_can_get_nothing_waits_without_looking(
    served: Hub, fetches: list[int], cause: str
) -> None:
    async with served.client() as client:
        lease_id = await limited(served, client)
        if cause == "retry-after":
            answer = {"lease_id": lease_id, "status": 503, "headers": {"Retry-After": "60"}}
            await client.post(f"{served.path}/ack", json={"leases": [answer]})
        if cause == "pause":
            hook = served.store.read_sync(hooks.by_id, served.hook_id)
            assert hook is not None
            served.store.write_sync(hook_pauses.pause, hook)
        fetches.clear()
        found = await client.post(f"{served.path}/dequeue", json={"max_wait": 0.3})
        assert found.json() == {"deliveries": []}
    # One look at the beginning, and one at the end.
    assert len(fetches) <= 2
