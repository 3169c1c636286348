"""A receiver of OTLP gets the same metrics that `/metrics` shows."""

from collections.abc import AsyncIterator, Iterator

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from otlp_receiver import OTLPReceiver, receiving, values
from prometheus_client import Metric as Family
from waiting import until

from hub.admin import metrics
from hub.admin.observability import Observability
from hub.admin.store_gauges import StoreGauges
from hub.cli.telemetry.running import running_telemetry
from store import Store
from worker.delivery.metrics import WorkerMetrics

KINDS = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
Series = dict[tuple[tuple[str, str], ...], object]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[OTLPReceiver]:
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{receiver.url}/v1/metrics")
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
        yield receiver


@pytest.fixture
async def observability(store: Store) -> AsyncIterator[Observability]:
    worker = WorkerMetrics()
    made = Observability(store, others=[worker])
    made.metrics.events.add("accepted", many=3)
    for seconds in (0.002, 0.3, 1_000_000.0):
        made.metrics.observe_request("topic", 202, seconds)
        worker.latency.observe_all([seconds])
    made.metrics.connections.read = lambda: 7
    store.metrics.held.read = lambda: 4096
    yield made
    await made.close()


def of_prometheus(family: Family) -> Series:
    if family.type != "histogram":
        return {tuple(sorted(one.labels.items())): one.value for one in family.samples}
    found: Series = {}
    for sample in family.samples:
        labels = dict(sample.labels)
        bound = labels.pop("le", "")
        part = sample.name.removeprefix(family.name) + bound
        key = (*sorted(labels.items()), ("part", part))
        found[key] = sample.value
    return found


def of_otlp(metric: Metric) -> Series:
    kind = str(metric.WhichOneof("data"))
    points = getattr(metric, kind).data_points
    if kind != "histogram":
        return {tuple(sorted(values(one.attributes).items())): one.as_double for one in points}
    found: Series = {}
    for point in points:
        labels = sorted(values(point.attributes).items())
        total = 0
        bounds = [*map(repr, point.explicit_bounds), "+Inf"]
        for bound, many in zip(bounds, point.bucket_counts, strict=True):
            total += many
            found[*labels, ("part", f"_bucket{bound}")] = total
        found[*labels, ("part", "_count")] = point.count
        found[*labels, ("part", "_sum")] = point.sum
        assert not point.HasField("min")
    return found


async def test_exported_metrics_match_those_for_prometheus(
    observability: Observability, collector: OTLPReceiver
) -> None:
    async with running_telemetry(observability) as tracer:
        assert tracer is None, "only metrics have an endpoint"
        await until(collector.metrics)
    exported = collector.metrics()
    standing = StoreGauges()
    standing.figures = await metrics.store_figures(observability)
    expected = {
        one.name: metrics.family(one) for one in metrics.all_families(observability, standing)
    }
    # These metrics change during the test, because the test itself uses the store.
    moving = {name for name in expected if name.startswith(("tocsin_commit", "tocsin_writes"))}
    present = {name for name, family in expected.items() if family.samples}
    assert exported.keys() == present
    assert len(present) > 20
    for name in present - moving:
        assert of_otlp(exported[name]) == of_prometheus(expected[name]), name
        assert exported[name].WhichOneof("data") == KINDS[expected[name].type]
        assert exported[name].description
    assert of_otlp(exported["tocsin_events_total"])[("outcome", "accepted"),] == 3


async def test_counters_are_totals_since_the_start(
    observability: Observability, collector: OTLPReceiver
) -> None:
    async with running_telemetry(observability):
        await until(collector.metrics)
        observability.metrics.events.add("accepted", many=4)
    events = collector.metrics()["tocsin_events_total"]
    assert events.sum.is_monotonic
    assert events.sum.aggregation_temporality == 2, "cumulative"
    assert of_otlp(events)[("outcome", "accepted"),] == 7, "the end exports the last values"
    for point in events.sum.data_points:
        assert 0 < point.start_time_unix_nano < point.time_unix_nano
    assert collector.metrics()["tocsin_request_seconds"].unit == "s"
    assert collector.metrics()["tocsin_writes_waiting_bytes"].unit == "By"
    assert events.unit == "1"


async def test_metrics_are_exported_without_a_store(
    observability: Observability, collector: OTLPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(patience: float) -> None:
        raise TimeoutError

    monkeypatch.setattr(observability.figures, "get", late)
    async with running_telemetry(observability):
        await until(collector.metrics)
    exported = collector.metrics()
    assert of_otlp(exported["tocsin_store_up"]) == {(): 0}
    assert "tocsin_backlog_deliveries" not in exported
    assert "tocsin_events_total" in exported
