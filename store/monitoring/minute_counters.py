"""What happened in each minute: events, attempts and how long they took, counted as it is written.

So that looking at an hour costs sixty rows, however much was delivered in it. What a group of
writes did is counted at once, as the last thing in its transaction.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from store.clock import SECOND
from store.database.connection import Connection, json_array

MINUTE = 60 * SECOND
EVERYWHERE = 0
"""In place of a repository's id."""
# Upper bounds in microseconds, six to a factor of ten; beyond the last there is one range more.
STEPS = (10, 15, 20, 30, 50, 70)
BOUNDS: tuple[int, ...] = tuple(step * 10**power for power in range(2, 7) for step in STEPS)[:29]
RANGES = tuple(f"b{number}" for number in range(len(BOUNDS) + 1))
COUNTED = ("events", "delivered", "failed", *RANGES)
KEY = "minute, repo_id, shard"
EVENTS, DELIVERED, FAILED, FIRST = 0, 1, 2, 3
FEW = 2
EVERY = tuple(range(len(COUNTED)))
SHARDS = 1024

CountIncrement = tuple[int, tuple[int, ...]]
"""A repository's id, and the places in COUNTED that grow by one, each as often as it is there."""


def increment(db: Connection, counts: CountIncrement) -> None:
    """Have this counted with the transaction."""
    db.before_commit(_write, counts)


def _write(db: Connection, items: list[CountIncrement]) -> None:
    everywhere: dict[int, int] = {}
    sums = {EVERYWHERE: everywhere}
    for repo_id, places in items:
        found = sums.setdefault(repo_id, {})
        for place in places:
            everywhere[place] = everywhere.get(place, 0) + 1
            if found is not everywhere:
                found[place] = found.get(place, 0) + 1
    # Of few writes few columns grow, and naming them all would cost more than the rest.
    grown = tuple(sorted(everywhere)) if len(everywhere) <= FEW else EVERY
    minute, shard = db.now // MINUTE, os.getpid() % SHARDS
    # In the same order everywhere: who writes the same rows waits, and no two wait for each other.
    rows = [
        (minute, repo_id, shard, *(sums[repo_id].get(place, 0) for place in grown))
        for repo_id in sorted(sums)
    ]
    columns, then = _growing(grown)
    db.insert_many("tally", columns, rows, then)


@cache
def _growing(places: tuple[int, ...]) -> tuple[str, str]:
    """Columns for these places of COUNTED, and what is done where there are rows already."""
    names = [COUNTED[place] for place in places]
    sums = ", ".join(f"{name} = tally.{name} + excluded.{name}" for name in names)
    return f"{KEY}, {', '.join(names)}", f"ON CONFLICT ({KEY}) DO UPDATE SET {sums}"


def bucket_of(latency: int) -> int:
    """The place in COUNTED for so many microseconds."""
    return FIRST + bisect_left(BOUNDS, latency)


@dataclass(slots=True)
class PeriodCounts:
    """The counts of a length of time."""

    events: int = 0
    delivered: int = 0
    failed: int = 0
    ranges: list[int] = field(default_factory=lambda: [0] * len(RANGES))

    def add(self, counts: Sequence[int]) -> None:
        """Count what is given in the order of COUNTED."""
        self.events += counts[EVENTS]
        self.delivered += counts[DELIVERED]
        self.failed += counts[FAILED]
        self.ranges = [a + b for a, b in zip(self.ranges, counts[FIRST:], strict=True)]

    def quantile(self, share: float) -> float | None:
        """The latency in microseconds that this share of first attempts did not exceed, as near as
        the ranges tell; None where there were none.
        """
        total = sum(self.ranges)
        if not total:
            return None
        wanted, before = share * total, 0
        for number, many in enumerate(self.ranges):
            if many and before + many >= wanted:
                return _within(number, (wanted - before) / many)
            before += many
        return float(BOUNDS[-1])


def _within(number: int, share: float) -> float:
    if number == len(BOUNDS):
        return float(BOUNDS[-1])
    low = BOUNDS[number - 1] if number else 0
    return low + (BOUNDS[number] - low) * share


def between(
    db: Connection, since: int, until: int, step: int, repo_ids: Iterable[int] | None
) -> dict[int, PeriodCounts]:
    """The tallies from the minute `since` to `until` (not included) in steps of so many minutes,
    by each step's first minute; those with nothing are left out. `repo_ids` None is everywhere.
    """
    sums = ", ".join(f"CAST(sum(t.{name}) AS BIGINT)" for name in COUNTED)
    given: dict[str, object] = {"since": since, "until": until, "step": step}
    if repo_ids is None:
        source = f"tally t WHERE t.repo_id = {EVERYWHERE} AND"
    else:
        source = (
            f"{db.each('repos', wanted='integer')} AS w JOIN tally t ON t.repo_id = w.wanted AND"
        )
        given["repos"] = json_array(repo_ids)
    rows = db.tuples(
        f"SELECT (t.minute - :since) / :step, {sums} FROM {source} t.minute >= :since"
        " AND t.minute < :until GROUP BY 1",
        **given,
    )
    found: dict[int, PeriodCounts] = {}
    for number, *counts in rows:
        tally = found[since + number * step] = PeriodCounts()
        tally.add(counts)
    return found


def drop(db: Connection, before: int, limit: int) -> int:
    """Forget minutes before a time (microseconds), at most so many; returns how many."""
    return db.execute(
        "DELETE FROM tally WHERE minute < :before AND minute <= (SELECT max(f.minute) FROM"
        " (SELECT minute FROM tally ORDER BY minute LIMIT :limit) AS f)",
        before=before // MINUTE,
        limit=limit,
    )
