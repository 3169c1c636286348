"""`/metrics`: the metrics of this process and the store's figures, for Prometheus."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from hub.admin.observability import Observability
from hub.admin.store_gauges import StoreGauges
from hub.http.response import Response, header
from hub.rest.request import Handler, Request
from store.database.metrics import AnyMetric, CounterMetric, HistogramMetric
from store.errors import StoreError
from store.monitoring.stats import DeliveryStats

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

# Time limit for the store's figures, in seconds. Without them the other metrics are returned.
PATIENCE = 5.0


def metrics(observability: Observability) -> Handler:
    """Return the handler of `/metrics`."""
    gauges = StoreGauges()
    kept: list[CollectorRegistry] = []

    async def work(request: Request) -> Response:
        gauges.figures = await store_figures(observability)
        if not kept:
            # Created on the first request, as it takes a tenth of a second that not every process
            # needs.
            kept.append(
                await asyncio.to_thread(registry, lambda: all_families(observability, gauges))
            )
        return _answer(kept[0], request)

    return work


async def store_figures(observability: Observability) -> DeliveryStats | None:
    """Return the store's figures. Return None if it does not answer within PATIENCE seconds."""
    try:
        return await observability.figures.get(PATIENCE)
    except (StoreError, TimeoutError):
        return None


def _answer(metrics_registry: "CollectorRegistry", request: Request) -> Response:
    from prometheus_client.exposition import choose_encoder

    encode, kind = choose_encoder(request.accept)
    return Response(
        200,
        encode(metrics_registry),
        [header("Content-Type", kind), (b"cache-control", b"no-store")],
    )


def all_families(observability: Observability, gauges: StoreGauges) -> list[AnyMetric]:
    parts = [gauges, observability.metrics, observability.store.metrics, *observability.others]
    return [metric for part in parts for metric in part]


def registry(metrics: Callable[[], Iterable[AnyMetric]]) -> "CollectorRegistry":
    """Return a registry of the present metrics and of the process itself."""
    from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector
    from prometheus_client.process_collector import ProcessCollector

    class Process(ProcessCollector):
        """Reads the boot time from the clock: a confined service may not read it in /proc."""

        def _boot_time(self) -> float:
            return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    made = CollectorRegistry()
    made.register(StoreCollector(metrics))
    for kind in (Process, PlatformCollector, GCCollector):
        kind(registry=made)
    return made


class StoreCollector:
    """Collects metrics for the client library."""

    def __init__(self, metrics: Callable[[], Iterable[AnyMetric]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator["Metric"]:
        """Return each metric with its present values."""
        return map(family, self._metrics())


def family(metric: AnyMetric) -> "Metric":
    """Convert a metric to the library's form."""
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    given = metric.name, metric.text
    if isinstance(metric, HistogramMetric):
        spread = HistogramMetricFamily(*given, labels=metric.labels)
        for labels, (counts, total) in metric.values().items():
            spread.add_metric(labels, _buckets(metric, counts), total)
        return spread
    kind = CounterMetricFamily if isinstance(metric, CounterMetric) else GaugeMetricFamily
    made: CounterMetricFamily | GaugeMetricFamily = kind(*given, labels=metric.labels)
    for labels, value in metric.values().items():
        made.add_metric(labels, value)
    return made


def _buckets(metric: HistogramMetric, counts: list[float]) -> list[tuple[str, float]]:
    """Return each upper bound with the cumulative count."""
    total, found = 0.0, []
    for bound, count in zip([*metric.bounds, float("inf")], counts, strict=True):
        total += count
        found.append(("+Inf" if bound == float("inf") else repr(float(bound)), total))
    return found
