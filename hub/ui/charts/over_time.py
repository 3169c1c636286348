"""Charts over time, with the same data as a table for screen readers."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hub.ui import formatting
from store.clock import DAY, HOUR, MINUTE

WIDTH, HEIGHT = 640.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 8.0, 14.0, 28.0
ACROSS, DOWN = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
FLOOR = HEIGHT - BOTTOM
MOST_LABELS = 7
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """Values over time. `kind` is a color.

    `dash` (solid, dashed, dotted) is the line's style; a series without one is drawn as bars.
    """

    label: str
    kind: str
    values: Values
    dash: str = ""
    note: str = ""
    """A remark in the legend that tells this series from the others."""


@dataclass(frozen=True, slots=True)
class ChartBar:
    x: float
    y: float
    width: float
    height: float
    kind: str
    said: str

    @property
    def outline(self) -> str:
        """Return the bar as a path. Four attributes of a rectangle would take twice as long."""
        x, y, width, height = self.x, self.y, self.width, self.height
        return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"


@dataclass(frozen=True, slots=True)
class ChartLine:
    points: list[str]
    """One polyline for each part without gaps in the data."""
    kind: str
    dash: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of `width` and `height`; all positions are in its units."""

    title: str
    unit: str
    series: Sequence[Series]
    moments: Sequence[int]
    ticks: list[tuple[float, str]]
    """Position and label of each tick on the vertical axis."""
    labels: list[tuple[float, str]]
    """Position and label of each tick on the horizontal axis."""
    rows: list[tuple[int, list[str]]]
    """The table's rows: a time, and each series' value at that time."""
    bars: list[ChartBar]
    lines: list[ChartLine]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    floor: float = FLOOR

    @property
    def points(self) -> list[str]:
        """Return the cursor's text at each moment: the time, and each series' value."""
        known, none = dict(self.rows), ["–"] * len(self.series)
        labels, time = [one.label for one in self.series], _moment_format(self.moments)
        rows = ((at, known.get(at, none)) for at in self.moments)
        return [
            "  ".join([f"{time(at)} UTC", *map(" ".join, zip(labels, values, strict=True))])
            for at, values in rows
        ]

    @property
    def table(self) -> list[tuple[str, list[str]]]:
        """Return `rows` with formatted times, which have a date if the chart is about days."""
        time = _moment_format(self.moments)
        return [(time(moment), values) for moment, values in self.rows]


def _moment_format(moments: Sequence[int]) -> Callable[[int], str]:
    is_long = len(moments) > 1 and moments[-1] - moments[0] > 2 * DAY
    return formatting.day if is_long else formatting.clock


def stacked(
    title: str,
    unit: str,
    moments: Sequence[int],
    series: Sequence[Series],
    over: Sequence[Series] = (),
) -> Chart:
    """Return a chart of stacked bars, with lines for the series in `over`.

    The values are counts per step of time.
    """
    sums = [sum(one.values[at] or 0 for one in series) for at in range(len(moments))]
    top = nice(max([*sums, *(value or 0 for one in over for value in one.values)], default=0))
    width = ACROSS / max(len(moments), 1)

    def at(number: float, value: float) -> str:
        return f"{LEFT + (number + 0.5) * width:.1f},{FLOOR - DOWN * value / top:.1f}"

    return Chart(
        title,
        unit,
        [*series, *over],
        moments,
        [(rounded(FLOOR - DOWN * part), _count(top * part)) for part in (0, 0.5, 1)],
        _labels(moments),
        _table(moments, [*series, *over], _count),
        [*_bars(moments, series, top)],
        [_line(one, at) for one in over],
    )


def _bars(moments: Sequence[int], series: Sequence[Series], top: float) -> Iterator[ChartBar]:
    width = ACROSS / max(len(moments), 1)
    time = _moment_format(moments)
    for at, moment in enumerate(moments):
        y = FLOOR
        for one in series:
            value = one.values[at] or 0
            height = DOWN * value / top
            y -= height
            if value:
                said = f"{time(moment)} UTC: {formatting.number(int(value))} {one.label}"
                x = LEFT + (at + 0.1) * width
                yield ChartBar(x, y, width * 0.8, height, one.kind, said)


def _line(series: Series, at: Callable[[float, float], str]) -> ChartLine:
    # A single value becomes a short line.
    points = [
        " ".join(at(number + side, value) for number, value in part for side in _sides(part))
        for part in _parts(series.values)
    ]
    return ChartLine(points, series.kind, series.dash)


def _sides(part: Sequence[object]) -> tuple[float, ...]:
    return (0.0,) if len(part) > 1 else (-0.4, 0.4)


def curves(title: str, unit: str, moments: Sequence[int], series: Sequence[Series]) -> Chart:
    """Return a chart of lines over a logarithmic axis. The values are microseconds."""
    known = [value for one in series for value in one.values if value]
    low = math.floor(math.log10(min(known, default=1_000)))
    high = max(math.ceil(math.log10(max(known, default=1_000_000))), low + 1)
    width = ACROSS / max(len(moments), 1)

    def at(number: float, value: float) -> str:
        x = LEFT + (number + 0.5) * width
        y = FLOOR - DOWN * (math.log10(max(value, 1)) - low) / (high - low)
        return f"{x:.1f},{y:.1f}"

    lines = [_line(one, at) for one in series]
    ticks = [
        (rounded(FLOOR - DOWN * (power - low) / (high - low)), formatting.duration(10**power))
        for power in range(low, high + 1)
    ]
    rows = _table(moments, series, formatting.duration)
    return Chart(title, unit, series, moments, ticks, _labels(moments), rows, [], lines)


def _parts(values: Values) -> list[list[tuple[int, float]]]:
    """Divide the values into parts without gaps."""
    parts: list[list[tuple[int, float]]] = [[]]
    for number, value in enumerate(values):
        if value:
            parts[-1].append((number, value))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


# The steps between labels of times, in microseconds.
TIME_STEPS = (
    *(minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * HOUR for hours in (1, 2, 3, 4, 6, 12)),
    *(days * DAY for days in (1, 2, 5, 10)),
)


def _labels(moments: Sequence[int]) -> list[tuple[float, str]]:
    """Return labels at round times, MOST_LABELS at most."""
    if not moments:
        return []
    span = moments[-1] - moments[0]
    step = next((one for one in TIME_STEPS if span // one < MOST_LABELS), TIME_STEPS[-1])
    time = _moment_format(moments)
    width = ACROSS / len(moments)
    return [
        (rounded(LEFT + (at + 0.5) * width), time(moment).partition(",")[0])
        for at, moment in enumerate(moments)
        if moment % step == 0
    ]


def _table(
    moments: Sequence[int], series: Sequence[Series], said: formatting.Formatter
) -> list[tuple[int, list[str]]]:
    return [
        (moment, ["–" if (value := one.values[at]) is None else said(value) for one in series])
        for at, moment in enumerate(moments)
        if any(one.values[at] for one in series)
    ]


def _count(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:g}{formatting.THIN}k"
    return formatting.number(int(value)) if value == int(value) else f"{value:g}"


def nice(value: float) -> float:
    """Return a round number that is not smaller, for the end of an axis."""
    if value <= 2:
        return 2
    power = 10 ** math.floor(math.log10(value))
    return float(next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value))


def rounded(value: float) -> float:
    return round(value, 1)
