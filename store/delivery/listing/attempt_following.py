"""New attempts for a reader that follows them.

Workers commit at the same time, so an attempt can appear after one with a higher id.
"""

from dataclasses import dataclass

from store.database.connection import Connection, Row
from store.delivery import attempt_feed
from store.delivery.attempt_filter import AttemptFilter
from store.text_index import portions
from store.text_index.portions import IndexHorizon


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """The place of a reader. It has read all attempts up to `after`, and `seen` of the later ones.

    No attempt can appear any more before `after`. `horizon` is the next candidate for it.
    """

    after: int
    seen: frozenset[int] = frozenset()
    horizon: IndexHorizon | None = None

    @property
    def newest(self) -> int:
        """Return the highest id that the reader may have seen."""
        return max(self.after, *self.seen, 0 if self.horizon is None else self.horizon.newest)


def advance(
    db: Connection, wanted: AttemptFilter, at: FeedPosition, limit: int
) -> tuple[list[Row], FeedPosition]:
    """Return the matching attempts that are new since a position, newest first.

    Also return the next position. If more than `limit` are new, the oldest are left out.
    """
    horizon, after = at.horizon, at.after
    if horizon is None or portions.settled(db, horizon):
        after = after if horizon is None else horizon.newest
        horizon = portions.horizon(db)
    # This comes after both: what an ended transaction has written is visible now.
    rows = attempt_feed.since(db, wanted, at.after, limit + len(at.seen))
    seen = frozenset(row["id"] for row in rows if row["id"] > after)
    fresh = [row for row in rows if row["id"] not in at.seen]
    return fresh[:limit], FeedPosition(after, seen, horizon)
