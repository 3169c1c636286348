"""Metrics and probes of a real daemon: exact counts under load, and readiness during trouble."""

import asyncio
import resource
import socket
import sqlite3
from pathlib import Path

import httpx
import pytest
from daemon import Ledger, Poster, Site, ledger
from local_server import NO_AUTHORITIES
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families as families
from waiting import PATIENCE, Stopwatch, until

EVENTS = 400


class Seen:
    """An HTTP client of a base URL, or of a Unix socket."""

    def __init__(self, url: str, path: Path | None = None) -> None:
        self.url, self.path = url, path

    async def get(self, path: str) -> httpx.Response:
        uds = None if self.path is None else str(self.path)
        transport = httpx.AsyncHTTPTransport(uds=uds, verify=NO_AUTHORITIES)
        async with httpx.AsyncClient(
            transport=transport, base_url=self.url, timeout=PATIENCE
        ) as client:
            return await client.get(path)

    async def values(self) -> dict[tuple[str, ...], float]:
        """Return the samples of /metrics by their names and label values."""
        answer = await self.get("/metrics")
        assert answer.status_code == 200, answer.text
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in families(answer.text)
            for sample in family.samples
        }

    async def failing(self) -> list[str]:
        """Return the names of the readiness checks that fail."""
        answer = await self.get("/readyz?verbose")
        assert answer.status_code in (200, 503), answer.text
        return [check["name"] for check in answer.json()["checks"] if not check["ok"]]

    async def until(self, name: str | None) -> None:
        """Wait until this check fails, or until no check fails if `name` is None."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.failing()
                if (name in found) if name else not found:
                    return
                await asyncio.sleep(0.05)


async def test_counts_are_right_under_load(site: Site) -> None:
    """The metrics are scraped without a pause while 400 events go to two hooks."""
    async with ledger(0.001) as first, ledger(0.002) as second:
        site.hook(first)
        site.hook(second)
        daemon = await site.serve()
        seen = Seen(daemon.url)
        poster, taken = Poster(site, EVENTS), Stopwatch()
        scraping = asyncio.create_task(scrape_on(seen))
        await poster.post()
        await until(lambda: first.got.total() + second.got.total() == 2 * EVENTS, "deliveries")
        await recorded(seen, 2 * EVENTS)
        scraping.cancel()
        values = await cleared(seen)
        took = taken.seconds()
    assert values[("tocsin_events_total", "accepted")] == EVENTS
    assert values[("tocsin_events_total", "repeated")] == 0
    assert values[("tocsin_deliveries_due_total",)] == 2 * EVENTS
    assert values[("tocsin_requests_total", "topic", "202")] == EVENTS
    assert values[("tocsin_request_seconds_count", "topic", "answered")] == EVENTS
    assert values[("tocsin_attempts_total", "2xx")] == 2 * EVENTS
    assert values[("tocsin_delivery_seconds_count",)] == 2 * EVENTS
    assert values[("tocsin_delivery_seconds_bucket", "+Inf")] == 2 * EVENTS
    assert 0 < values[("tocsin_delivery_seconds_sum",)] < 2 * EVENTS * took
    assert values[("tocsin_attempt_seconds_count",)] == 2 * EVENTS
    assert values[("tocsin_writes_total",)] > EVENTS
    assert values[("tocsin_commit_seconds_count",)] <= values[("tocsin_writes_total",)]
    for state in ("due", "later", "held"):
        assert values[("tocsin_backlog_deliveries", state)] == 0
    for name in ("in_flight", "failures"):
        assert values.get((f"tocsin_attempts_{name}",), 0) == 0
    assert values[("tocsin_writes_waiting",)] == 0
    assert values[("tocsin_store_up",)] == values[("tocsin_workers",)] == 1
    assert await daemon.end() == 0


async def scrape_on(seen: Seen) -> None:
    """Scrape without a pause, which must not disturb the deliveries."""
    while True:
        await seen.values()


async def recorded(seen: Seen, count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await seen.values())[("tocsin_deliveries_total", "delivered")] < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def cleared(seen: Seen) -> dict[tuple[str, ...], float]:
    """Return the metrics once they show a worker, no backlog and no waiting write.

    They show it late, because the figures of the store are cached, at first from before the worker
    has begun, and jobs write from time to time.
    """
    states = [("tocsin_backlog_deliveries", state) for state in ("due", "later", "held")]
    states += [("tocsin_writes_waiting",)]
    async with asyncio.timeout(PATIENCE):
        while True:
            values = await seen.values()
            if values[("tocsin_workers",)] and not any(map(values.__getitem__, states)):
                return values
            await asyncio.sleep(0.05)


async def test_hub_and_worker_have_their_own_metrics(site: Site) -> None:
    """The worker serves its metrics on a Unix socket, the hub on the port of the API."""
    path = site.folder / "admin.sock"
    async with ledger() as receiver:
        site.hook(receiver)
        hub = await site.serve("--only", "hub")
        worker = await site.serve("--only", "worker", TOCSIN_ADMIN_BIND=f"unix:{path}")
        at_hub, at_worker = Seen(hub.url), Seen("http://localhost", path)
        assert path.stat().st_mode & 0o777 == 0o660
        poster = Poster(site, 50)
        await poster.post()
        await recorded(at_worker, 50)
        ours, theirs = await at_hub.values(), await at_worker.values()
        assert await at_worker.failing() == await at_hub.failing() == []
        assert (await at_worker.get("/healthz")).json() == {"status": "ok"}
        assert (await at_worker.get("/openapi.json")).status_code == 404
    assert ours[("tocsin_events_total", "accepted")] == 50
    assert theirs[("tocsin_events_total", "accepted")] == 0
    assert ("tocsin_deliveries_total", "delivered") not in ours
    assert theirs[("tocsin_delivery_seconds_count",)] == 50
    assert ours[("tocsin_workers",)] == theirs[("tocsin_workers",)] == 1
    assert await worker.end() == 0
    assert not path.exists()
    assert await hub.end() == 0


async def test_a_worker_replaces_the_socket_that_a_crash_left(site: Site) -> None:
    path = site.folder / "admin.sock"
    given = {"TOCSIN_ADMIN_BIND": f"unix:{path}"}
    worker = await site.serve("--only", "worker", **given)
    await worker.kill()
    assert path.exists()
    await site.serve("--only", "worker", **given)
    assert (await Seen("http://localhost", path).get("/healthz")).status_code == 200


async def test_a_locked_database_fails_readiness(site: Site) -> None:
    daemon = await site.serve()
    seen = Seen(daemon.url)
    await seen.until(None)
    other = sqlite3.connect(site.folder / "tocsin.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        await seen.until("database")
        assert (await seen.get("/readyz")).json() == {"status": "failing"}
        assert (await seen.get("/healthz")).status_code == 200
    finally:
        other.rollback()
        other.close()
    await seen.until(None)
    assert await daemon.end() == 0


async def test_an_unwritable_disk_fails_readiness(site: Site) -> None:
    daemon = await site.serve()
    seen = Seen(daemon.url)
    await seen.until(None)
    hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, hard))
    await seen.until("database")
    assert (await seen.get("/healthz")).status_code == 200
    values = await seen.values()
    assert values[("tocsin_commit_failures_total",)] > 0
    assert values[("tocsin_store_up",)] == 1, "the database can still be read"
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    await seen.until(None)
    poster = Poster(site, 5)
    await poster.post()
    assert len(poster.accepted) == 5
    assert await daemon.end() == 0


async def test_deliveries_without_a_worker(site: Site) -> None:
    async with ledger() as receiver:
        site.hook(receiver)
        hub = await site.serve("--only", "hub", TOCSIN_READY_LAG="0.5")
        seen = Seen(hub.url)
        await seen.until(None)
        await Poster(site, 3).post()
        await seen.until("lag")
        values = await seen.values()
        assert values[("tocsin_delivery_lag_seconds",)] > 0.5
        assert values[("tocsin_backlog_deliveries", "due")] == 3
        worker = await site.serve("--only", "worker")
        await until(lambda: receiver.got.total() == 3, "deliveries")
        await seen.until(None)
        assert await worker.end() == 0


class Waiting(Ledger):
    """A receiver that answers 200 once `reported` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.reported = asyncio.Event()

    async def think(self) -> None:
        await self.reported.wait()


async def test_an_ending_daemon_shows_its_phase_and_attempts_in_flight(site: Site) -> None:
    """The separate admin port shows the shutdown while the last deliveries are under way."""
    port = free_port()
    async with ledger(made=(receiver := Waiting())):
        site.hook(receiver)
        daemon = await site.serve(TOCSIN_ADMIN_BIND=f"127.0.0.1:{port}")
        seen, beside = Seen(f"http://127.0.0.1:{port}"), Seen(daemon.url)
        await seen.until(None)
        assert (await beside.get("/metrics")).status_code == 404
        assert (await beside.get("/readyz")).json() == {"status": "ok"}
        await Poster(site, 1).post()
        await until(lambda: receiver.got.total() == 1, "a delivery under way")
        ending = asyncio.create_task(daemon.end())
        await seen.until("phase")
        assert (await seen.values())[("tocsin_attempts_in_flight",)] == 1
        taken = Stopwatch()
        receiver.reported.set()
        assert await ending == 0
        assert taken.seconds() < 20 * daemon.started, "the daemon ends soon after the last answer"


async def test_a_taken_address_of_administrators_stops_the_start(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for bind, code in ((f"127.0.0.1:{port}", 5), ("unix:/nowhere/admin.sock", 4)):
            with pytest.raises(AssertionError, match="it said ''"):
                await site.serve(TOCSIN_ADMIN_BIND=bind)
            assert await site.running[-1].process.wait() == code
