"""Counting what happens, cheaply, for whoever wants to read it: kinds of measures, and the store's.

A measure knows its name and what it says, and nothing of those who read it. Each is added to on
one thread alone, and may be read on any.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Labels = tuple[str, ...]

# Bounds in seconds: of a commit, and of what waits for one.
QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class CounterMetric:
    """Counts what happened, by the values of its labels; `known` ones are told of from the start,
    so that the first of a kind shows as a change.
    """

    kind = "counter"

    def __init__(
        self, name: str, text: str, labels: Labels = (), known: Iterable[Labels] = ()
    ) -> None:
        self.name, self.text, self.labels = name, text, labels
        self._counts: dict[Labels, float] = dict.fromkeys(known if labels else [()], 0.0)

    def add(self, *values: str, many: float = 1) -> None:
        """Count `many` more under these values of the labels."""
        self._counts[values] = self._counts.get(values, 0.0) + many

    def values(self) -> Mapping[Labels, float]:
        """The counts by the labels' values."""
        return dict(self._counts)


class HistogramMetric:
    """How values are spread over ranges, the upper bounds of which are given."""

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
        # One place for each range, one for what is beyond all of them, one for the sum.
        series = self._series[values] = [0.0] * (len(self.bounds) + 2)
        return series

    def add(self, value: float, *values: str) -> None:
        """Count one value under these values of the labels."""
        series = self._series.get(values) or self._new(values)
        series[bisect_left(self.bounds, value)] += 1
        series[-1] += value

    def observe_all(self, values: Sequence[float]) -> None:
        """Count values, where there are no labels."""
        series, bounds = self._series[()], self.bounds
        for value in values:
            series[bisect_left(bounds, value)] += 1
        series[-1] += sum(values)

    def values(self) -> Mapping[Labels, tuple[list[float], float]]:
        """By the labels' values how many there are in each range, the last one being unbounded,
        and the sum of all.
        """
        return {labels: (series[:-1], series[-1]) for labels, series in self._copied().items()}

    def _copied(self) -> dict[Labels, list[float]]:
        return {labels: [*series] for labels, series in dict(self._series).items()}


GaugeValue = float | Mapping[Labels, float] | None


class GaugeMetric:
    """Something that stands at a height, which is read when somebody asks."""

    kind = "gauge"

    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        self.name, self.text, self.labels = name, text, labels
        self.read: Callable[[], GaugeValue] = lambda: None
        """The height, or one for each of the labels' values; None where it is not known."""

    def values(self) -> Mapping[Labels, float]:
        """The heights by the labels' values."""
        found = self.read()
        if found is None:
            return {}
        return found if isinstance(found, Mapping) else {(): found}


AnyMetric = CounterMetric | HistogramMetric | GaugeMetric


class MetricSet:
    """The measures of a part of the program: those that are its attributes, in their order."""

    def __iter__(self) -> Iterator[AnyMetric]:
        return (each for each in vars(self).values() if isinstance(each, AnyMetric))


class StoreMetrics(MetricSet):
    """What the writer does."""

    def __init__(self) -> None:
        self.commits = HistogramMetric(
            "tocsin_commit_seconds", "Time that a group of writes took the writer, commit and all"
        )
        self.writes = CounterMetric("tocsin_writes_total", "Writes in groups that were committed")
        self.failures = CounterMetric(
            "tocsin_commit_failures_total", "Groups of writes that could not be committed"
        )
        self.refused = CounterMetric(
            "tocsin_writes_refused_total", "Writes refused because too much was waiting already"
        )
        self.waiting = GaugeMetric("tocsin_writes_waiting", "Writes that wait for the writer")
        self.held = GaugeMetric("tocsin_writes_waiting_bytes", "Bytes that waiting writes hold")
