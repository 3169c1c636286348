"""Metrics: types that count cheaply, and the store's own metrics.

A metric has a name and a help text, and does not depend on any exporter. Only one thread may add to
a metric; any thread may read it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Labels = tuple[str, ...]

# Upper bounds in seconds, for the time of a commit or of waiting for one.
QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# A counter keeps so many combinations of label values apart. All others count as OTHER, because a
# value such as a hook's id may be new again and again.
MOST_SERIES, OTHER = 1_000, "other"


class CounterMetric:
    """A counter for each combination of label values, up to MOST_SERIES.

    Those in `known` exist from the start with 0, so that the first increment shows as a change.
    """

    kind = "counter"

    def __init__(
        self, name: str, text: str, labels: Labels = (), known: Iterable[Labels] = ()
    ) -> None:
        self.name, self.text, self.labels = name, text, labels
        self._counts: dict[Labels, float] = dict.fromkeys(known if labels else [()], 0.0)

    def add(self, *values: str, many: float = 1) -> None:
        """Increase the counter of these label values by `many`."""
        if values not in self._counts and len(self._counts) >= MOST_SERIES:
            values = (OTHER,) * len(values)
        self._counts[values] = self._counts.get(values, 0.0) + many

    def values(self) -> Mapping[Labels, float]:
        """Return the counts, keyed by label values."""
        return dict(self._counts)


class HistogramMetric:
    """A histogram with the given upper bounds."""

    kind = "histogram"

    def __init__(
        self, name: str, text: str, bounds: Sequence[float] = QUICK, labels: Labels = ()
    ) -> None:
        self.name, self.text, self.labels = name, text, labels
        self.bounds = tuple(bounds)
        self._series: dict[Labels, list[float]] = {}
        if not labels:
            self._new(())

    def _new(self, values: Labels) -> list[float]:
        # One bucket for each bound, one for values above all of them, and the sum.
        series = self._series[values] = [0.0] * (len(self.bounds) + 2)
        return series

    def add(self, value: float, *values: str) -> None:
        """Observe one value under these label values."""
        series = self._series.get(values) or self._new(values)
        series[bisect_left(self.bounds, value)] += 1
        series[-1] += value

    def observe_all(self, values: Sequence[float]) -> None:
        """Observe several values of a histogram without labels."""
        series, bounds = self._series[()], self.bounds
        for value in values:
            series[bisect_left(bounds, value)] += 1
        series[-1] += sum(values)

    def values(self) -> Mapping[Labels, tuple[list[float], float]]:
        """Return the buckets (the last one is unbounded) and the sum, keyed by label values."""
        return {labels: (series[:-1], series[-1]) for labels, series in self._copied().items()}

    def _copied(self) -> dict[Labels, list[float]]:
        return {labels: [*series] for labels, series in dict(self._series).items()}


GaugeValue = float | Mapping[Labels, float] | None


class GaugeMetric:
    """A current value that is read on demand."""

    kind = "gauge"

    def __init__(
        self,
        name: str,
        text: str,
        labels: Labels = (),
        *,
        read: Callable[[], GaugeValue] = lambda: None,
    ) -> None:
        self.name, self.text, self.labels = name, text, labels
        self.read = read
        """Reads the value, or one for each combination of label values; None if it is unknown."""

    def values(self) -> Mapping[Labels, float]:
        """Return the current values, keyed by label values."""
        found = self.read()
        if found is None:
            return {}
        return found if isinstance(found, Mapping) else {(): found}


AnyMetric = CounterMetric | HistogramMetric | GaugeMetric


class MetricSet:
    """The metrics of a part of the program: its attributes, in their order."""

    def __iter__(self) -> Iterator[AnyMetric]:
        return (each for each in vars(self).values() if isinstance(each, AnyMetric))


class StoreMetrics(MetricSet):
    """The writer's metrics."""

    def __init__(self) -> None:
        self.commits = HistogramMetric(
            "tocsin_commit_seconds", "Time to write a group of writes, with its commit"
        )
        self.writes = CounterMetric("tocsin_writes_total", "Writes in groups that were committed")
        self.failures = CounterMetric(
            "tocsin_commit_failures_total", "Groups of writes that could not be committed"
        )
        self.refused = CounterMetric(
            "tocsin_writes_refused_total", "Writes refused because too many were queued"
        )
        self.damaged = GaugeMetric(
            "tocsin_database_damaged",
            "Whether this process has met damage in the database since its start (1) or not (0)",
        )
        self.waiting = GaugeMetric("tocsin_writes_waiting", "Writes queued for the writer")
        self.held = GaugeMetric("tocsin_writes_waiting_bytes", "Bytes of queued writes")
