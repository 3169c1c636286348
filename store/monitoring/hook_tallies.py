"""Counts of each hook's attempts by status code and duration, written every few seconds.

A slot has FINE minutes at first. Retention merges old slots into hours, so that 30 days of a hook
are some 700 rows.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from store.clock import HOUR, MINUTE, SECOND
from store.database.connection import Connection, json_array
from store.monitoring.quantile import quantile
from store.monitoring.shards import own_shard

FINE, COARSE = 5, HOUR // MINUTE
# Upper bounds of durations in microseconds. One more range is above the last bound.
BOUNDS: tuple[int, ...] = tuple(
    SECOND * milliseconds // 1000
    for milliseconds in (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000)
)
RANGES = tuple(f"l{number}" for number in range(len(BOUNDS) + 1))
NO_ANSWER = 0
"""In place of a status code, for attempts without a response."""
KEY = "minute, hook_id, code, shard"
GROW = ", ".join(f"{name} = hook_tally.{name} + excluded.{name}" for name in RANGES)
COLUMNS, THEN = f"{KEY}, {', '.join(RANGES)}", f"ON CONFLICT ({KEY}) DO UPDATE SET {GROW}"
OLD = "minute / 60 * 60 <> minute"
"""The SQL condition of rows whose slot does not begin on the hour. An index has only these."""

Counts = dict[tuple[int, int], list[int]]
"""How many attempts in each range of durations, by hook and status code."""


def count(counts: Counts, hook_id: int, code: int, duration: int) -> None:
    """Count an attempt whose duration is in microseconds. It is not written yet."""
    found = counts.get((hook_id, code))
    if found is None:
        found = counts[hook_id, code] = [0] * len(RANGES)
    found[bisect_left(BOUNDS, duration)] += 1


def write(db: Connection, sums: Counts) -> None:
    """Add counts to the present slot.

    One row for each hook and status code makes this as expensive as the record of an attempt. So
    callers collect the counts of some seconds.
    """
    minute, shard = db.now // MINUTE // FINE * FINE, own_shard()
    # All transactions update the rows in this order, so that no two deadlock.
    rows = [(minute, hook_id, code, shard, *many) for (hook_id, code), many in sorted(sums.items())]
    db.insert_many("hook_tally", COLUMNS, rows, THEN)


@dataclass(slots=True)
class HookCounts:
    """The attempts of a period by status code, and the durations of all of them."""

    codes: Counter[int] = field(default_factory=Counter)
    ranges: list[int] = field(default_factory=lambda: [0] * len(RANGES))
    longest: int | None = None
    """A duration that no attempt exceeded, in microseconds, if one is known."""

    def add(self, code: int, ranges: Iterable[int]) -> None:
        """Add attempts with this status code."""
        given = list(ranges)
        self.codes[code] += sum(given)
        self.ranges = [a + b for a, b in zip(self.ranges, given, strict=True)]

    def add_period(self, other: "HookCounts") -> None:
        self.codes += other.codes
        self.ranges = [a + b for a, b in zip(self.ranges, other.ranges, strict=True)]

    @property
    def total(self) -> int:
        return sum(self.codes.values())

    @property
    def succeeded(self) -> int:
        """Return the number of successful attempts."""
        return self.of_class(2)

    def of_class(self, hundreds: int) -> int:
        """Return the number of attempts whose status code begins with a digit; 0: no answer."""
        return sum(many for code, many in self.codes.items() if code // 100 == hundreds)

    def quantile(self, share: float) -> float | None:
        """Estimate the duration in microseconds that this share of attempts did not exceed."""
        found = quantile(self.ranges, BOUNDS, share)
        return found if found is None or self.longest is None else min(found, self.longest)


def between(
    db: Connection, hook_ids: Iterable[int], since: int, until: int, step: int
) -> dict[int, HookCounts]:
    """Return the counts of hooks between two minutes (`until` is exclusive), in periods of `step`.

    The keys are the periods' first minutes. Empty periods are left out.
    """
    sums = ", ".join(f"CAST(sum(t.{name}) AS BIGINT)" for name in RANGES)
    rows = db.tuples(
        f"SELECT (t.minute - :since) / :step, t.code, {sums}"
        f" FROM {db.each('hooks', wanted='integer')} AS w JOIN hook_tally t ON t.hook_id = w.wanted"
        " AND t.minute >= :since AND t.minute < :until GROUP BY 1, 2",
        hooks=json_array(hook_ids),
        since=since,
        until=until,
        step=step,
    )
    found: dict[int, HookCounts] = {}
    for number, code, *ranges in rows:
        found.setdefault(since + number * step, HookCounts()).add(code, ranges)
    return found


def merge(db: Connection, before: int, limit: int) -> int:
    """Merge slots before a time in microseconds into hours. Return how many rows were merged."""
    columns = ", ".join(RANGES)
    rows = db.tuples(
        f"SELECT {KEY}, {columns} FROM hook_tally WHERE {OLD} AND minute < :before"
        " ORDER BY minute LIMIT :limit",
        before=before // MINUTE // COARSE * COARSE,
        limit=limit,
    )
    sums: dict[tuple[int, ...], list[int]] = {}
    for minute, hook_id, code, shard, *ranges in rows:
        key = minute // COARSE * COARSE, hook_id, code, shard
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(RANGES)), ranges, strict=True)]
    if sums:
        db.insert_many("hook_tally", COLUMNS, [(*key, *sums[key]) for key in sorted(sums)], THEN)
    _delete(db, OLD, (row[:4] for row in rows))
    return len(rows)


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete the counts before a time in microseconds. Return how many rows."""
    rows = db.tuples(
        f"SELECT {KEY} FROM hook_tally WHERE minute < :before ORDER BY minute LIMIT :limit",
        before=before // MINUTE,
        limit=limit,
    )
    return _delete(db, "TRUE", rows)


def _delete(db: Connection, condition: str, keys: Iterable[Sequence[Any]]) -> int:
    rows = db.each("keys", minute="integer", hook_id="integer", code="integer", shard="integer")
    return db.execute(
        f"DELETE FROM hook_tally WHERE {condition} AND ({KEY}) IN (SELECT {KEY} FROM {rows} AS k)",
        keys=json_array(keys),
    )
