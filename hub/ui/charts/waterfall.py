"""The chart of an attempt's stages: one bar for each, below each other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hub.ui import formatting
from hub.ui.charts.over_time import WIDTH, rounded

# The stages of an attempt in order: name, label, color.
STAGES = (
    ("token", "Get an access token", "warn"),
    ("resolve", "DNS lookup", "warn"),
    ("connect", "Connect", "accent"),
    ("tls", "TLS handshake", "accent"),
    ("wait", "Wait for the response", "busy"),
    ("read", "Read the response", "good"),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of an attempt, with its times in microseconds and its position in the chart."""

    name: str
    began: int
    took: int
    kind: str
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """One bar for each stage, over an axis from 0 to `total` microseconds."""

    total: int
    stages: list[Stage]
    ticks: list[tuple[float, str]]
    width: float
    height: float
    left: float
    right: float


ROW, ASIDE = 26.0, 190.0


def waterfall(timings: Mapping[str, int]) -> Waterfall | None:
    """Return the chart of an attempt's stages, or None if nothing was measured."""
    known = [(name, said, kind) for name, said, kind in STAGES if timings.get(name) is not None]
    if not known:
        return None
    total = max(timings.get("total", 0), sum(timings[name] for name, _, _ in known), 1)
    right = WIDTH - 70
    scale = (right - ASIDE) / total
    stages, began = [], 0
    for row, (name, said, kind) in enumerate(known):
        took = timings[name]
        x, width = ASIDE + began * scale, max(took * scale, 1.5)
        stages.append(
            Stage(said, began, took, kind, rounded(x), rounded(row * ROW + 4), rounded(width))
        )
        began += took
    step = _round_step(total)
    ticks = [
        (rounded(ASIDE + at * scale), formatting.duration(at)) for at in range(0, total + 1, step)
    ]
    return Waterfall(total, stages, ticks, WIDTH, len(known) * ROW + 24, ASIDE, right)


def _round_step(total: int) -> int:
    """Return the step of 2 to 5 round parts of a duration."""
    power: int = 10 ** max(math.floor(math.log10(total)) - 1, 0)
    steps = (step * power for step in (1, 2, 5, 10, 20, 50, 100))
    return next(step for step in steps if total <= 5 * step)
