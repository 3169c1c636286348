"""Estimates of quantiles from counts in ranges."""

from collections.abc import Sequence


def quantile(ranges: Sequence[int], bounds: Sequence[int], share: float) -> float | None:
    """Estimate the value that this share of the counted values did not exceed.

    `bounds` are the ranges' upper bounds; the last range has none. The precision depends on them.
    Return None if nothing was counted.
    """
    total = sum(ranges)
    if not total:
        return None
    wanted, before = share * total, 0
    for number, many in enumerate(ranges):
        if many and before + many >= wanted:
            return _within(bounds, number, (wanted - before) / many)
        before += many
    return float(bounds[-1])


def _within(bounds: Sequence[int], number: int, share: float) -> float:
    if number == len(bounds):
        return float(bounds[-1])
    low = bounds[number - 1] if number else 0
    return low + (bounds[number] - low) * share
