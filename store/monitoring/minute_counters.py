"""Counters for each minute: events, attempts and their latencies, updated with every write.

So a report about an hour reads sixty rows, however many deliveries there were. A group of writes
updates its counters once, at the end of its transaction.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from store.clock import MINUTE
from store.database.connection import Connection, json_array
from store.monitoring.quantile import quantile
from store.monitoring.shards import own_shard

EVERYWHERE = 0
"""In place of a repository's id, for the counts of the whole installation."""
# Upper bounds in microseconds, six for each power of ten. One more bucket is above the last bound.
STEPS = (10, 15, 20, 30, 50, 70)
BOUNDS: tuple[int, ...] = tuple(step * 10**power for power in range(2, 7) for step in STEPS)[:29]
RANGES = tuple(f"b{number}" for number in range(len(BOUNDS) + 1))
COUNTED = ("events", "delivered", "failed", "dead", "filtered", *RANGES)
KEY = "minute, repo_id, shard"
EVENTS, DELIVERED, FAILED, DEAD, FILTERED, FIRST = 0, 1, 2, 3, 4, 5
FEW = 2
EVERY = tuple(range(len(COUNTED)))

OWNER = "coalesce(repo_id, -org_id)"
"""SQL for the owner of a hook's counts: its repository, or the negative id of its organization.

Other hooks, and subscribers by WebSub, have none: they count for the installation alone. A
repository's administrators see only deliveries to its own hooks.
"""
COUNTED_FOR = f"coalesce((SELECT {OWNER} FROM hook o WHERE o.id = hook_id), {EVERYWHERE})"
"""SQL for the OWNER to whose counts a delivery belongs: its hook's."""

CountIncrement = tuple[int, Sequence[int]]
"""An OWNER, and the indexes in COUNTED to increment, once for each occurrence."""


def increment(db: Connection, counts: CountIncrement) -> None:
    """Increment counters in this transaction."""
    db.before_commit(_write, counts)


def _write(db: Connection, items: list[CountIncrement]) -> None:
    found: dict[int, list[int]] = {}
    for repo_id, places in items:
        found.setdefault(repo_id, []).extend(places)
    everywhere = Counter(chain.from_iterable(found.values()))
    sums = {repo_id: Counter(places) for repo_id, places in found.items()}
    sums[EVERYWHERE] = everywhere
    # A few writes increment few columns, and naming all columns would cost more than the rest.
    grown = tuple(sorted(everywhere)) if len(everywhere) <= FEW else EVERY
    minute, shard = db.now // MINUTE, own_shard()
    # All transactions update the rows in this order, so that no two deadlock.
    rows = [
        (minute, repo_id, shard, *(sums[repo_id].get(place, 0) for place in grown))
        for repo_id in sorted(sums)
    ]
    columns, then = _growing(grown)
    db.insert_many("tally", columns, rows, then)


@cache
def _growing(places: tuple[int, ...]) -> tuple[str, str]:
    """Return the columns for these indexes in COUNTED, and the clause for existing rows."""
    names = [COUNTED[place] for place in places]
    sums = ", ".join(f"{name} = tally.{name} + excluded.{name}" for name in names)
    return f"{KEY}, {', '.join(names)}", f"ON CONFLICT ({KEY}) DO UPDATE SET {sums}"


def bucket_of(latency: int) -> int:
    """Return the index in COUNTED for a latency in microseconds."""
    return FIRST + bisect_left(BOUNDS, latency)


@dataclass(slots=True)
class PeriodCounts:
    """The counts of a period. `delivered` and `failed` are attempts.

    `dead` is the number of deliveries that failed for good, and `filtered` of those that a filter
    left out.
    """

    events: int = 0
    delivered: int = 0
    failed: int = 0
    dead: int = 0
    filtered: int = 0
    ranges: list[int] = field(default_factory=lambda: [0] * len(RANGES))

    def add(self, counts: Sequence[int]) -> None:
        """Add counts, which are in the order of COUNTED."""
        self.events += counts[EVENTS]
        self.delivered += counts[DELIVERED]
        self.failed += counts[FAILED]
        self.dead += counts[DEAD]
        self.filtered += counts[FILTERED]
        self.ranges = [a + b for a, b in zip(self.ranges, counts[FIRST:], strict=True)]

    def add_period(self, other: "PeriodCounts") -> None:
        named = (other.events, other.delivered, other.failed, other.dead, other.filtered)
        self.add([*named, *other.ranges])

    def quantile(self, share: float) -> float | None:
        """Estimate the latency in microseconds that this share of first attempts did not exceed.

        The precision depends on the buckets. Return None if there were no first attempts.
        """
        return quantile(self.ranges, BOUNDS, share)


def between(
    db: Connection,
    since: int,
    until: int,
    step: int,
    repo_ids: Iterable[int] | None,
    org_ids: Iterable[int] = (),
) -> dict[int, PeriodCounts]:
    """Return the counts between two minutes (`until` is exclusive), in periods of `step` minutes.

    The keys are the periods' first minutes. Empty periods are left out. `repo_ids` None is
    everywhere. `org_ids` adds the counts of these organizations' own hooks and events.
    """
    limits = {"since": since, "until": until}
    if repo_ids is None:
        places: Sequence[int] = EVERY
        source, given = f"tally t WHERE t.repo_id = {EVERYWHERE} AND", {}
    else:
        places = _used(db, **limits)
        source = (
            f"{db.each('repos', wanted='integer')} AS w JOIN tally t ON t.repo_id = w.wanted AND"
        )
        given = {"repos": json_array([*repo_ids, *(-org_id for org_id in org_ids)])}
    sums = "".join(f", CAST(sum(t.{COUNTED[place]}) AS BIGINT)" for place in places)
    rows = db.tuples(
        f"SELECT (t.minute - :since) / :step{sums} FROM {source} t.minute >= :since"
        " AND t.minute < :until GROUP BY 1",
        step=step,
        **limits,
        **given,
    )
    return {since + row[0] * step: _period(places, row[1:]) for row in rows}


def _used(db: Connection, since: int, until: int) -> list[int]:
    """Return the indexes in COUNTED of what was counted at all between two minutes.

    The counts of the whole installation have all of them. Most ranges of latencies are empty, and
    adding up the zeros of many repositories would take longer than this.
    """
    most = ", ".join(f"max({name})" for name in COUNTED)
    row = db.tuples(
        f"SELECT {most} FROM tally WHERE repo_id = {EVERYWHERE} AND minute >= :since"
        " AND minute < :until",
        since=since,
        until=until,
    )[0]
    return [place for place, value in enumerate(row) if value]


def _period(places: Sequence[int], sums: Sequence[int]) -> PeriodCounts:
    counts = dict(zip(places, sums, strict=True))
    period = PeriodCounts()
    period.add([counts.get(place, 0) for place in EVERY])
    return period


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete the counters of minutes before a time in microseconds. Return how many."""
    return db.execute(
        "DELETE FROM tally WHERE minute < :before AND minute <= (SELECT max(f.minute) FROM"
        " (SELECT minute FROM tally ORDER BY minute LIMIT :limit) AS f)",
        before=before // MINUTE,
        limit=limit,
    )
