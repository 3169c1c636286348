"""How often each event came lately, and how many hooks subscribe to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.database.connection import Connection, json_array

# The newest events that are counted.
LOOKED = 10_000


@dataclass(frozen=True, slots=True)
class EventCount:
    """The number of events of a name among the newest ones, and the time of the latest."""

    many: int = 0
    latest: int | None = None


def by_name(db: Connection, repo_ids: Sequence[int] | None) -> dict[str, EventCount]:
    """Return the counts by event, of these repositories (None: everywhere)."""
    where, given = _within(db, repo_ids, "f")
    rows = db.tuples(
        "SELECT f.name, count(*), max(f.received_at) FROM (SELECT e.name, e.repo_id, e.received_at"
        f" FROM event e ORDER BY e.id DESC LIMIT :looked) AS f WHERE 1 = 1{where} GROUP BY f.name",
        looked=LOOKED,
        **given,
    )
    return {name: EventCount(many, latest) for name, many, latest in rows}


def subscribers(db: Connection, repo_ids: Sequence[int] | None) -> dict[str, int]:
    """Return how many hooks of these repositories subscribe to each event; `*` is one of them."""
    where, given = _within(db, repo_ids, "s")
    return dict(
        db.tuples(
            "SELECT s.event, count(*) FROM subscription s"
            f" WHERE s.hook_id > 0{where} GROUP BY s.event",
            **given,
        )
    )


def _within(
    db: Connection, repo_ids: Sequence[int] | None, alias: str
) -> tuple[str, dict[str, str]]:
    if repo_ids is None:
        return "", {}
    ids = f"SELECT id FROM {db.each('repos', id='integer')} AS w"
    return f" AND {alias}.repo_id IN ({ids})", {"repos": json_array(repo_ids)}
