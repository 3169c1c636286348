"""Figures, each made of rounds in which ours and the reference take turns."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Trial = Callable[[], float]


@dataclass(slots=True)
class Row:
    """One line of the table. `more` says whether more is better.

    `wanted` is the target of the ratio, or of `ours` if `absolute`. Without it the line is only
    for comparison.
    """

    figure: str
    unit: str
    ours: float
    reference: float | None = None
    ratio: float | None = None
    wanted: float | None = None
    more: bool = True
    absolute: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the figure meets its target; None if it has no target."""
        value = self.ours if self.absolute else self.ratio
        if self.wanted is None or value is None:
            return None
        return value >= self.wanted if self.more else value <= self.wanted


@dataclass(slots=True)
class Bench:
    """The tools of a figure. `said` shows the current step."""

    rounds: int
    directory: Path
    said: Callable[[str], None]
    receiver: str = ""
    """The kind of receiver; empty until one is used."""
    notes: list[str] = field(default_factory=list)

    def turns(self, name: str, **trials: Trial) -> "Turns":
        """Run the trials in rounds, in the order A B, B A, A B, ... One is called `ours`.

        A disturbance affects all sides of its round, and no side is always the first.
        """
        turns = Turns({side: [] for side in trials})
        for number in range(1, self.rounds + 1):
            self.said(f"{name}: round {number} of {self.rounds}")
            order = [*trials] if number % 2 else [*reversed(trials)]
            for side in order:
                turns.values[side].append(trials[side]())
        return turns


@dataclass(slots=True)
class Turns:
    """The values of the rounds, by side."""

    values: dict[str, list[float]]

    def row(
        self,
        figure: str,
        unit: str,
        wanted: float | None = None,
        *,
        side: str = "ours",
        of: str = "reference",
        more: bool = True,
    ) -> Row:
        """Return the line with the medians. Its ratio is the median of the rounds' ratios."""
        ours, reference = self.values[side], self.values[of]
        return Row(
            figure,
            unit,
            statistics.median(ours),
            statistics.median(reference),
            statistics.median(a / b for a, b in zip(ours, reference, strict=True)),
            wanted,
            more,
        )


Measure = Callable[[Bench], Iterator[Row]]


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
