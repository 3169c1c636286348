"""The metrics of `/metrics` in OpenTelemetry's form.

The library's own instruments would count everything a second time, and have no histogram whose
values can be read. So the values are converted, as for Prometheus.
"""

from collections.abc import Iterable, Sequence

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from hub import __version__
from store.database.metrics import AnyMetric, CounterMetric, HistogramMetric, Labels

TOTAL = AggregationTemporality.CUMULATIVE
UNITS = {"seconds": "s", "bytes": "By"}
SCOPE = InstrumentationScope("tocsin", __version__)


def metrics_data(
    metrics: Iterable[AnyMetric], resource: Resource, since: int, now: int
) -> MetricsData:
    """Return the values of metrics at `now`. Counters have counted from `since` on.

    Both times are in nanoseconds since the epoch.
    """
    found = [_metric(one, since, now) for one in metrics]
    scoped = ScopeMetrics(SCOPE, [one for one in found if one.data.data_points], "")
    return MetricsData([ResourceMetrics(resource, [scoped], "")])


def _metric(metric: AnyMetric, since: int, now: int) -> Metric:
    data: Sum | Gauge | Histogram
    if isinstance(metric, HistogramMetric):
        data = Histogram(_spreads(metric, since, now), TOTAL)
    elif isinstance(metric, CounterMetric):
        data = Sum(_numbers(metric, since, now), TOTAL, is_monotonic=True)
    else:
        data = Gauge(_numbers(metric, since, now))
    return Metric(metric.name, metric.text, _unit(metric.name), data)


def _unit(name: str) -> str:
    words = name.removesuffix("_total").split("_")
    return UNITS.get(words[-1], "1")


def _numbers(metric: AnyMetric, since: int, now: int) -> Sequence[NumberDataPoint]:
    return [
        NumberDataPoint(_labels(metric, labels), since, now, float(value))
        for labels, value in metric.values().items()
        if not isinstance(value, tuple)
    ]


def _spreads(metric: HistogramMetric, since: int, now: int) -> Sequence[HistogramDataPoint]:
    return [
        HistogramDataPoint(
            _labels(metric, labels),
            since,
            now,
            int(sum(counts)),
            total,
            [int(count) for count in counts],
            metric.bounds,
            # The least and the greatest value are not known.
            None,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
        )
        for labels, (counts, total) in metric.values().items()
    ]


def _labels(metric: AnyMetric, values: Labels) -> dict[str, str]:
    return dict(zip(metric.labels, values, strict=True))
