"""`/metrics`: its format, its counts, and its response while the store is not available."""

import asyncio
import base64
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from hub_client import judge
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families

from hub.admin import metrics
from hub.admin.observability import Observability
from hub.admin.store_gauges import StoreGauges
from hub.app import create_app
from hub.rest.metrics import HubMetrics
from hub.settings import HubSettings
from store import Store
from store.accounts import tokens
from store.database.metrics import MOST_SERIES, OTHER, MetricSet, StoreMetrics
from store.delivery import sources
from store.delivery.incoming import Receipt
from store.errors import Unavailable
from store.hooks import hooks
from store.monitoring import stats

PUSH = "/octo/hello/events/push"
OPEN = "application/openmetrics-text;version=1.0.0"


class Watched:
    """A client of a hub on the same machine, with a user's token, and the hub's metrics."""

    def __init__(self, client: httpx.AsyncClient, observability: Observability) -> None:
        self.client = client
        self.observability = observability

    async def scrape(self, accept: str = "") -> str:
        answer = await self.client.get("/metrics", headers={"Accept": accept, "Authorization": ""})
        assert answer.status_code == 200
        return answer.text

    async def value(self, name: str, **labels: str) -> float:
        found = {
            tuple(sorted(sample.labels.items())): sample.value
            for family in families(await self.scrape())
            for sample in family.samples
            if sample.name == name
        }
        return found.get(tuple(sorted(labels.items())), 0.0)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit, so that no test fails if the store is slow."""
    monkeypatch.setattr(metrics, "PATIENCE", 30.0)


@asynccontextmanager
async def watched(store: Store, token: str, **settings: Any) -> AsyncIterator[Watched]:
    observability = Observability(store)
    app = create_app(store, HubSettings(**settings), judge, observability=observability)

    async def run(scope: Any, receive: Any, send: Any) -> None:
        # httpx cannot leave out a header of the client. Tests send it empty instead.
        scope["headers"] = [pair for pair in scope["headers"] if pair[1]]
        await app(scope, receive, send)

    headers = {"Authorization": f"Bearer {token}", "User-Agent": "tests"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(run), base_url="http://127.0.0.1", headers=headers
    ) as client:
        yield Watched(client, observability)
    await observability.close()


@pytest.fixture
async def hub(store: Store, seed: Any) -> AsyncIterator[Watched]:
    async with watched(store, seed.token) as made:
        yield made
    await store.close()


async def test_prometheus_can_parse_the_metrics(hub: Watched) -> None:
    await hub.client.post(PUSH, json={})
    plain = list(families(await hub.scrape()))
    modern = list(open_families(await hub.scrape(OPEN)))
    names = [family.name for family in plain]
    assert len(set(names)) == len(names)
    assert {family.name for family in modern} >= {"tocsin_events", "tocsin_commit_seconds"}
    for family in plain:
        assert family.documentation
        if family.type == "histogram":
            check(family)


def check(family: Metric) -> None:
    """Assert that a histogram's buckets never decrease, and that the last one equals its count."""
    series: dict[tuple[Any, ...], list[float]] = {}
    counts = {}
    for sample in family.samples:
        labels = tuple((k, v) for k, v in sorted(sample.labels.items()) if k != "le")
        if sample.name.endswith("_bucket"):
            series.setdefault(labels, []).append(sample.value)
        elif sample.name.endswith("_count"):
            counts[labels] = sample.value
    for labels, buckets in series.items():
        assert buckets == sorted(buckets)
        assert buckets[-1] == counts[labels]


async def test_the_process_is_measured(hub: Watched) -> None:
    assert abs(await hub.value("process_start_time_seconds") - time.time()) < 86_400
    assert await hub.value("process_resident_memory_bytes") > 1_000_000
    assert await hub.value("process_cpu_seconds_total") > 0
    assert "python_gc_objects_collected_total" in await hub.scrape()
    assert 'tocsin_info{version="' in await hub.scrape()


async def test_events_by_outcome(hub: Watched, store: Store, seed: Any) -> None:
    for at in range(2):
        url = f"https://receiver.example/{at}"
        store.write_sync(hooks.create, seed.hello["id"], url=url, events=["push"])
    for guid in ("one", "two", "one"):
        headers = {"X-GitHub-Delivery": guid}
        assert (await hub.client.post(PUSH, json={}, headers=headers)).status_code == 202
    conflict = await hub.client.post(PUSH, json={"a": 1}, headers={"X-GitHub-Delivery": "one"})
    assert conflict.status_code == 409
    assert (await hub.client.post(PUSH, content=b"{")).status_code == 400
    assert await hub.value("tocsin_events_total", outcome="accepted") == 2
    assert await hub.value("tocsin_events_total", outcome="repeated") == 1
    assert await hub.value("tocsin_deliveries_due_total") == 4
    requests = {status: await hub.value("tocsin_requests_total", door="topic", status=status)
                for status in ("202", "400", "409")}  # fmt: skip
    assert requests == {"202": 3, "400": 1, "409": 1}
    name = "tocsin_request_seconds_count"
    assert await hub.value(name, door="topic", outcome="answered") == 3
    assert await hub.value(name, door="topic", outcome="refused") == 2
    assert await hub.value("tocsin_backlog_deliveries", state="due") == 4


async def test_filtered_deliveries_are_counted(hub: Watched, store: Store, seed: Any) -> None:
    options = {"filter": {"payload": {"ref": "refs/heads/main"}}}
    url = "https://receiver.example/filtered"
    hook = store.write_sync(
        hooks.create, seed.hello["id"], url=url, events=["push"], options=options
    )
    for ref in ("refs/heads/main", "refs/heads/x", "refs/heads/y"):
        assert (await hub.client.post(PUSH, json={"ref": ref})).status_code == 202
    name = "tocsin_deliveries_filtered_total"
    assert await hub.value(name, hook=str(hook["id"])) == 2
    assert await hub.value("tocsin_deliveries_due_total") == 1


async def test_events_in_a_batch(hub: Watched) -> None:
    line = b'{"id": "%d", "event": "push", "repository": "octo/hello", "payload": {}}\n'
    body = b"".join(line % (at % 5) for at in range(7))
    headers = {"Content-Type": "application/x-ndjson"}
    assert (await hub.client.post("/events", content=body, headers=headers)).status_code == 202
    assert await hub.value("tocsin_events_total", outcome="accepted") == 5
    assert await hub.value("tocsin_events_total", outcome="repeated") == 2


async def test_commits_are_counted(hub: Watched) -> None:
    before = await hub.value("tocsin_commit_seconds_count")
    for _ in range(3):
        await hub.client.post(PUSH, json={})
    assert await hub.value("tocsin_commit_seconds_count") >= before + 3
    assert await hub.value("tocsin_writes_waiting") == 0


async def test_exceeded_rate_limits_are_counted(store: Store, seed: Any) -> None:
    async with watched(store, seed.token, rate_limits={"core": 2}, points_per_minute=100) as hub:
        statuses = [(await hub.client.get("/versions")).status_code for _ in range(4)]
        assert statuses == [200, 200, 403, 403]
        assert await hub.value("tocsin_rate_limited_total", limit="primary") == 2
    async with watched(store, seed.reader_token, points_per_minute=1) as hub:
        statuses = [(await hub.client.get("/versions")).status_code for _ in range(2)]
        assert statuses == [200, 403]
        assert await hub.value("tocsin_rate_limited_total", limit="secondary") == 1
    await store.close()


async def test_failed_logins_are_counted(hub: Watched, store: Store) -> None:
    store.write_sync(sources.create, "forge", "the source's secret")

    def given(text: str) -> dict[str, str]:
        return {"Authorization": text}

    basic = "Basic " + base64.b64encode(b"octo:wrong").decode()
    wrong = tokens.new_value("personal")
    for headers in (given(f"Bearer {wrong}"), given("Bearer x")):
        assert (await hub.client.get("/versions", headers=headers)).status_code == 401
    grants = await hub.client.get("/applications/grants", headers=given(basic))
    assert grants.status_code == 401
    app = await hub.client.post("/applications/x/token", headers=given(basic), json={})
    assert app.status_code == 401
    signature = hmac.digest(b"another", b"{}", "sha256").hex()
    headers = given("") | {"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Event": "push"}
    signed = await hub.client.post("/events", content=b"{}", headers=headers)
    assert signed.status_code == 401
    nobody = await hub.client.post("/authorizations", headers=given(""))
    assert nobody.status_code == 401
    found = {kind: await hub.value("tocsin_failed_logins_total", kind=kind)
             for kind in ("token", "password", "app", "signature")}  # fmt: skip
    assert found == {"token": 2, "password": 1, "app": 1, "signature": 1}


async def test_values_from_requests_make_no_series(hub: Watched) -> None:
    await hub.client.get("/healthz")
    before = set(await series(hub))
    for at in range(30):
        await hub.client.get(f"/repos/x{at}/y{at}")
        await hub.client.post(f"/octo/hello/events/x{at}", json={})
        await hub.client.request(f"METHOD{at}", "/versions")
    after = set(await series(hub))
    # Only the endpoint (`door`) and the status of a request make new series.
    assert {line.partition("_total")[0] for line in after - before if "status=" in line} == {
        "tocsin_requests"
    }
    assert len(after - before) < 90


async def series(hub: Watched) -> list[str]:
    lines = (await hub.scrape()).splitlines()
    return [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]


def test_hooks_beyond_a_number_share_a_series() -> None:
    metrics, many = HubMetrics(), 3_000
    metrics.count_accepted([Receipt(1, "g", 0, False, list(range(1, many + 1)))])
    metrics.count_accepted([Receipt(2, "h", 0, False, [1, many])])
    found = metrics.filtered.values()
    assert len(found) == MOST_SERIES + 1
    assert (found["1",], found[OTHER,]) == (2, many - MOST_SERIES + 1)
    assert sum(found.values()) == many + 2


async def test_a_store_that_is_away_hides_nothing_else(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(db: object) -> None:
        raise Unavailable("the database cannot be used right now")

    monkeypatch.setattr(stats, "collect", away)
    async with watched(store, seed.token) as hub:
        await hub.client.get("/versions")
        assert await hub.value("tocsin_store_up") == 0
        assert await hub.value("tocsin_requests_total", door="api", status="200") == 1
        assert "tocsin_backlog_deliveries{" not in await hub.scrape()
        assert "\ntocsin_oldest_due_seconds " not in await hub.scrape()
    await store.close()


async def test_a_store_that_does_not_answer_is_not_waited_for(
    hub: Watched, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*args: object) -> None:
        await asyncio.sleep(60)

    assert await hub.value("tocsin_store_up") == 1
    monkeypatch.setattr(metrics, "PATIENCE", 0.05)
    monkeypatch.setattr(store, "read", never)
    hub.observability.figures.expire()
    assert await hub.value("tocsin_store_up") == 0
    assert await hub.value("tocsin_requests_total", door="admin", status="200") == 2


async def test_counts_outlive_the_application(store: Store, seed: Any) -> None:
    """A reload of the settings makes a new application, which continues the counts."""
    observability = Observability(store)
    for _ in range(2):
        app = create_app(store, HubSettings(), judge, observability=observability)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await client.get("/versions", headers={"User-Agent": "tests"})
    counts = observability.metrics.requests.values()
    assert {labels: many for labels, many in counts.items() if many} == {("api", "200"): 2}
    await observability.close()
    await store.close()


@pytest.mark.parametrize("part", [StoreGauges, HubMetrics, StoreMetrics])
def test_every_measure_is_named_and_explained(part: type[MetricSet]) -> None:
    metrics = list(part())
    assert metrics
    for metric in metrics:
        assert metric.name.startswith("tocsin_")
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.text[0].isupper()
        assert not metric.text.endswith(".")


async def test_the_first_refused_event_shows_as_a_change(hub: Watched) -> None:
    """A series that begins with its first count has no rate, so the first failures were unseen."""
    text = await hub.scrape()
    for door in ("topic", "events"):
        assert f'tocsin_requests_total{{door="{door}",status="503"}} 0.0' in text
