"""The chart of latencies, for the installation, a hook and a host."""

from collections.abc import Sequence
from typing import Protocol

from hub.ui.charts.over_time import Chart, Series, curves


class Measured(Protocol):
    """The durations of one period."""

    def quantile(self, share: float) -> float | None:
        """Return the duration in microseconds that this share did not exceed."""
        ...


# Name, kind, style, share and note of each curve.
QUANTILES = (
    ("p50", "good", "solid", 0.5, "half took less"),
    ("p95", "warn", "dashed", 0.95, "1 in 20 took longer"),
    ("p99", "bad", "dotted", 0.99, "1 in 100 took longer"),
)


def latency(unit: str, moments: Sequence[int], periods: Sequence[Measured]) -> Chart:
    """Return the chart of latencies, with a curve for each of QUANTILES."""
    series = [
        Series(name, kind, [one.quantile(share) for one in periods], style, note)
        for name, kind, style, share, note in QUANTILES
    ]
    return curves("Latency", unit, moments, series)
