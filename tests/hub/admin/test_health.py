"""Liveness and readiness probes: the reasons for which they fail, and their recovery."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from hub_client import judge
from waiting import PATIENCE

from hub.admin import health
from hub.admin.observability import Observability
from hub.app import create_app
from hub.http.ttl_cache import TTLCache
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.clock import HOUR, MovableClock
from store.database import migrations
from store.database.writing.condition import LARGE, REMEMBERED, UNUSUAL, DatabaseCondition
from store.delivery import leases
from store.delivery.events import accept_all
from store.delivery.incoming import IncomingEvent
from store.errors import Damaged, Full, Unavailable
from store.hooks import hooks
from store.monitoring import stats

# The seconds for which the hub caches the result of a check.
KEPT = 1.0
Later = Callable[[], None]


class SteppedClock:
    """A clock that only the test moves."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def move(self) -> None:
        """Move the clock until the cached results have expired."""
        self.seconds += 1.1 * KEPT


kept_for = SteppedClock()


@asynccontextmanager
async def probed(
    store: Store, observability: Observability | None = None, **settings: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of a hub, on the same machine as the hub."""
    observability = observability or Observability(store, clock=kept_for)
    assert observability.figures.seconds == observability.writable.seconds == KEPT
    app = create_app(store, HubSettings(**settings), judge, observability=observability)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client
    await observability.close()


@pytest.fixture(autouse=True)
async def closed(store: Store) -> AsyncIterator[None]:
    yield
    await store.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limits of the checks, so that no test fails on a busy machine."""
    monkeypatch.setattr(health, "PATIENCE", PATIENCE)
    monkeypatch.setattr(health, "LATE", PATIENCE)


@pytest.fixture(autouse=True)
def later() -> Later:
    """Reset the clock. Return a function that lets the cached results expire."""
    kept_for.seconds = 1000.0
    return kept_for.move


def failing(answer: httpx.Response) -> dict[str, Row]:
    """The failed checks by name. The status has to agree with them."""
    found = {check["name"]: check for check in answer.json()["checks"] if not check["ok"]}
    assert answer.status_code == (503 if found else 200)
    assert answer.json()["status"] == ("failing" if found else "ok")
    return found


async def ready(client: httpx.AsyncClient) -> dict[str, Row]:
    return failing(await client.get("/readyz?verbose"))


async def test_public_probes_show_only_the_status(store: Store) -> None:
    async with probed(store) as client:
        for path in ("/healthz", "/readyz"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
            assert answer.headers["cache-control"] == "no-store"
            head = await client.head(path)
            assert (head.status_code, head.content) == (200, b"")


async def test_each_check_is_listed(store: Store) -> None:
    async with probed(store) as client:
        live = (await client.get("/healthz?verbose")).json()["checks"]
        assert [check["name"] for check in live] == ["event_loop", "delivery_loop"]
        checks = (await client.get("/readyz?verbose=1")).json()["checks"]
    names = ["phase", "event_loop", "delivery_loop", "database", "schema", "lag"]
    assert [check["name"] for check in checks] == names
    assert all(check["ok"] and check["said"] and "remedy" not in check for check in checks)


async def test_a_stalled_delivery_loop_fails_liveness(store: Store) -> None:
    seen: list[float] = []

    def stuck(limit: float) -> str:
        seen.append(limit)
        return "claiming: no sign of life for 40 s"

    async with probed(store, Observability(store, stuck=stuck)) as client:
        assert (await client.get("/healthz")).json() == {"status": "failing"}
        found = failing(await client.get("/healthz?verbose"))["delivery_loop"]
        assert found["said"] == "claiming: no sign of life for 40 s"
        assert "restart" in found["remedy"]
        assert list(await ready(client)) == ["delivery_loop"]
    assert set(seen) == {health.STUCK}


@pytest.mark.parametrize("phase", ["starting", "ending"])
async def test_the_hub_is_not_ready_while_it_starts_or_ends(store: Store, phase: Any) -> None:
    async with probed(store, Observability(store, phase=phase)) as client:
        assert (await client.get("/healthz")).status_code == 200
        assert (await ready(client))["phase"]["said"] == f"it is {phase}"


async def test_a_late_event_loop_fails_liveness(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LATE", 0.0)
    async with probed(store) as client:
        found = await ready(client)
        assert list(found) == ["event_loop"]
        assert found["event_loop"]["said"].startswith("one pass took ")
        assert (await client.get("/healthz")).status_code == 503


async def test_a_locked_database_fails_readiness_within_the_bound(
    store: Store, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe fails within the time limit, queues one write for all requests, and recovers."""
    observability = Observability(store, clock=kept_for)
    async with probed(store, observability) as client:
        assert await ready(client) == {}
        other = store.engine.session()
        other.begin(0, write=True)
        other.db.execute("UPDATE probe SET tried_at = 0")
        later()
        # Reads go on while the database is locked for writes.
        await observability.figures.get(PATIENCE)
        monkeypatch.setattr(health, "PATIENCE", 0.2)
        found = await asyncio.gather(*(ready(client) for _ in range(20)))
        assert all(list(one) == ["database"] for one in found)
        assert "no answer within 0.2 s" in found[0]["database"]["said"]
        assert "tocsin doctor" in found[0]["database"]["remedy"]
        assert store.metrics.waiting.read() == 1
        other.rollback()
        other.close()
        async with asyncio.timeout(PATIENCE):
            while await ready(client):
                later()
                await asyncio.sleep(0.05)


async def test_a_read_only_database_fails_readiness(
    store: Store, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(db: Connection) -> None:
        raise Unavailable("attempt to write a readonly database")

    async with probed(store) as client:
        with monkeypatch.context() as patched:
            patched.setattr(stats, "probe", refuse)
            said = (await ready(client))["database"]["said"]
            assert said == "the database cannot be written: attempt to write a readonly database"
            assert (await client.get("/readyz")).json() == {"status": "failing"}
            assert (await client.get("/healthz")).status_code == 200
        later()
        assert await ready(client) == {}


async def test_a_lack_of_room_fails_readiness_until_a_write_as_large_succeeds(
    store: Store,
) -> None:
    """The probe still succeeds then, because it overwrites a row."""

    def refuse(db: Connection, items: list[int]) -> list[int]:
        raise Full("database or disk is full")

    async with probed(store) as client:
        with pytest.raises(Full):
            await store.batch(refuse, 1, weight=1000)
        await store.batch(same, 1, weight=999)
        said = (await ready(client))["database"]["said"]
        assert said == "the database cannot be written: database or disk is full"
        await store.batch(same, 1, weight=1000)
        assert await ready(client) == {}


def same(db: Connection, items: list[int]) -> list[int]:
    return items


async def test_a_lack_of_room_is_forgotten_when_nothing_large_is_written(store: Store) -> None:
    store.condition.clock = kept_for
    store.condition.note(Full("the disk is full"), 1000)
    async with probed(store) as client:
        assert list(await ready(client)) == ["database"]
        kept_for.seconds += REMEMBERED
        assert await ready(client) == {}
        # The next lack has its own size.
        store.condition.note(Full("the disk is full"), 10)
        assert list(await ready(client)) == ["database"]
        await store.batch(same, 1, weight=10)
        assert await ready(client) == {}


async def test_a_lack_of_room_for_an_unusually_large_event_fails_no_readiness(store: Store) -> None:
    async with probed(store) as client:
        for _ in range(2 * UNUSUAL):
            await store.batch(same, 1, weight=1000)
        store.condition.note(Full("the disk is full"), LARGE + 1)
        assert await ready(client) == {}
        store.condition.note(Full("the disk is full"), LARGE)
        assert list(await ready(client)) == ["database"]


async def test_events_are_not_unusually_large_if_many_are() -> None:
    condition = DatabaseCondition()
    # The first of them may be the first write after a start.
    for _ in range(1000):
        condition.note(Full("the disk is full"), 5 * LARGE)
        assert condition.lack
        condition.note(None, 1000)
        assert condition.lack


@pytest.mark.parametrize("way", ["read", "write", "write_relaxed"])
async def test_damage_fails_readiness_and_is_a_metric(store: Store, way: str) -> None:
    def meet(db: Connection) -> None:
        raise Damaged("the database is damaged (page 7)")

    told: list[str] = []
    store.condition.on_damage = lambda: told.append("once")
    async with probed(store) as client:
        for _ in range(2):
            with pytest.raises(Damaged):
                await getattr(store, way)(meet)
        await store.write(stats.probe)
        found = (await ready(client))["database"]
        assert found["said"] == "the database is damaged (page 7)"
        assert "restore a backup" in found["remedy"]
        assert "\ntocsin_database_damaged 1.0\n" in (await client.get("/metrics")).text
    assert told == ["once"]


async def test_a_database_of_a_newer_program_fails_readiness(store: Store) -> None:
    newest = migrations.steps()[-1][0]
    async with probed(store) as client:
        store.write_sync(
            lambda db: db.execute(
                "INSERT INTO migration (number, name, applied_at) VALUES (:number, 'x', 0)",
                number=newest + 2,
            )
        )
        found = (await ready(client))["schema"]
    assert found["said"] == "the database is 2 steps ahead of this program"


async def test_asking_often_asks_the_store_once(
    store: Store, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    probe, look = stats.probe, stats.collect
    monkeypatch.setattr(stats, "probe", lambda db: asked.append("probe") or probe(db))
    monkeypatch.setattr(stats, "collect", lambda db: asked.append("look") or look(db))
    async with probed(store) as client:
        for _ in range(3):
            await asyncio.gather(*(client.get("/readyz") for _ in range(20)))
        assert asked.count("probe") == 1
        assert 1 <= asked.count("look") <= 2  # a read may start twice
        later()
        await client.get("/readyz")
        assert asked.count("probe") == 2


class TestLag:
    @pytest.fixture
    def waiting(self, store: Store, seed: Any, clock: MovableClock) -> None:
        """A delivery that has been due for 100 s."""
        repo_id = seed.hello["id"]
        store.write_sync(hooks.create, repo_id, url="https://receiver.example/", events=["push"])
        store.write_sync(accept_all, [IncomingEvent(repo_id, "g", repo_id, "push", b"{}")])
        clock.advance(100)

    @pytest.mark.usefixtures("waiting")
    async def test_a_missing_worker_is_reported_with_a_remedy(self, store: Store) -> None:
        async with probed(store) as client:
            found = (await ready(client))["lag"]
        assert found["figure"] == 100
        assert "0 workers" in found["said"]
        assert "start a worker" in found["remedy"]

    @pytest.mark.usefixtures("waiting")
    @pytest.mark.parametrize(("allowed", "failed"), [(0, []), (101, []), (99, ["lag"])])
    async def test_a_setting_bounds_the_allowed_lag(
        self, store: Store, allowed: float, failed: list[str]
    ) -> None:
        async with probed(store, ready_lag=allowed) as client:
            assert list(await ready(client)) == failed

    @pytest.mark.usefixtures("waiting")
    async def test_readiness_returns_with_a_worker_unless_the_worker_lags(
        self, store: Store, later: Later
    ) -> None:
        async with probed(store) as client:
            assert list(await ready(client)) == ["lag"]
            lease = store.write_sync(leases.acquire, "tests", HOUR)
            later()
            assert await ready(client) == {}
            store.write_sync(leases.renew, lease, HOUR, 61_000_000)
            later()
            assert list(await ready(client)) == ["lag"]


class TestKept:
    async def test_an_error_is_kept_too(self, later: Later) -> None:
        asked = 0

        async def ask() -> int:
            nonlocal asked
            asked += 1
            raise Unavailable("away")

        kept = TTLCache(ask, KEPT, kept_for)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await kept.get(PATIENCE)
        assert asked == 1
        later()
        with pytest.raises(Unavailable):
            await kept.get(PATIENCE)
        assert asked == 2

    async def test_a_timeout_leaves_the_question_running(self) -> None:
        answered = asyncio.Event()

        async def ask() -> int:
            await answered.wait()
            return 7

        kept = TTLCache(ask)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await kept.get(0.01)
        waiting = asyncio.create_task(kept.get(PATIENCE))
        await asyncio.sleep(0)
        answered.set()
        assert await waiting == 7

    async def test_callers_get_the_result_of_their_run_if_another_begins(self) -> None:
        runs: list[int] = []

        async def ask() -> int:
            runs.append(1)
            await asyncio.sleep(0)
            return 7

        kept = TTLCache(ask, seconds=0)
        callers = []
        for _ in range(20):
            callers.append(asyncio.create_task(kept.get()))
            await asyncio.sleep(0)
        assert await asyncio.gather(*callers) == [7] * 20
        assert len(runs) > 1

    async def test_an_error_after_a_timeout_is_not_raised(self) -> None:
        async def ask() -> int:
            await asyncio.sleep(0.01)
            raise Unavailable("away")

        kept = TTLCache(ask)
        with pytest.raises(TimeoutError):
            await kept.get(0)
        await asyncio.sleep(0.02)
        await kept.close()

    async def test_a_closed_cache_asks_no_more(self) -> None:
        async def ask() -> None:
            await asyncio.sleep(60)

        kept = TTLCache(ask)
        await kept.close()
        with pytest.raises(TimeoutError):
            await kept.get(0)
        await kept.close()
