"""The list of repositories with their subscribers, and the latest event of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.database.connection import LAST_ID, Connection, Row, json_array
from store.database.list_order import Matches, SortOrder, matches_of
from store.delivery.subscribers import NOT_OF_APP
from store.hooks.event_names import WILDCARD

COUNTS = {
    "hooks": "SELECT count(*) FROM hook h WHERE h.repo_id = r.id AND h.deleted_at IS NULL",
    "followers": "SELECT count(*) FROM websub w WHERE w.repo_id = r.id AND w.ended_at IS NULL",
    "latest": "SELECT COALESCE(max(x.id), 0) FROM event x WHERE x.repo_id = r.id",
}
COLUMNS = {
    "created": ("r.id",),
    "repository": ("lower(a.login || '/' || r.name)",),
    **{name: (f"({sql})",) for name, sql in COUNTS.items()},
}
OLDEST_FIRST = SortOrder("created")


@dataclass(frozen=True, slots=True)
class TopicFilter:
    """A filter for repositories. `repo_ids` None means all.

    `event` is one to which a hook of the repository subscribes, and `hook_ids` are hooks of which
    it has one. `first` and `before` limit the ids of its events, of which it has at least one.
    """

    repo_ids: Sequence[int] | None = None
    event: str = ""
    hook_ids: Sequence[int] | None = None
    first: int | None = None
    before: int | None = None

    def sql(self, db: Connection) -> tuple[str, dict[str, Any]]:
        """Return what follows FROM, and its parameters."""
        where = ["1 = 1"]
        given: dict[str, Any] = {}
        if self.repo_ids is not None:
            where.append(f"r.id {db.among('repos')}")
            given["repos"] = json_array(self.repo_ids)
        if self.event:
            where.append(
                "EXISTS (SELECT 1 FROM subscription s WHERE s.repo_id = r.id"
                f" AND s.event IN (:event, :every) AND {NOT_OF_APP})"
            )
            given |= {"event": self.event, "every": WILDCARD}
        if self.hook_ids is not None:
            hooks = db.each("hooks", id="integer")
            where.append(
                f"r.id IN (SELECT y.repo_id FROM {hooks} AS t JOIN hook y ON y.id = t.id"
                " WHERE y.repo_id IS NOT NULL AND y.deleted_at IS NULL)"
            )
            given["hooks"] = json_array(self.hook_ids)
        if self.first is not None or self.before is not None:
            where.append(
                "EXISTS (SELECT 1 FROM event e WHERE e.repo_id = r.id AND e.id >= :first"
                " AND e.id < :before)"
            )
            given |= {"first": self.first or 0, "before": self.before or LAST_ID}
        source = " FROM repository r JOIN account a ON a.id = r.owner_id"
        return f"{source} WHERE {' AND '.join(where)}", given


def page(
    db: Connection,
    wanted: TopicFilter,
    *,
    limit: int,
    order: SortOrder = OLDEST_FIRST,
    skip: int = 0,
) -> list[Row]:
    """Return a page of repositories, `skip` of them left out.

    Each has its numbers of `hooks` and `followers`, and `latest_at`, the time of its latest event.
    """
    source, given = wanted.sql(db)
    ids = db.column(
        f"SELECT r.id{source} ORDER BY {order.sql(COLUMNS, 'r.id')} LIMIT :limit OFFSET :skip",
        limit=limit,
        skip=skip,
        **given,
    )
    counts = ", ".join(f"({sql}) AS {name}" for name, sql in COUNTS.items())
    rows = db.all(
        "SELECT f.*, e.received_at AS latest_at FROM"
        f" (SELECT r.id, a.login || '/' || r.name AS full_name, r.private, {counts}"
        f" FROM {db.each('repos', id='integer')} AS w JOIN repository r ON r.id = w.id"
        " JOIN account a ON a.id = r.owner_id) AS f LEFT JOIN event e ON e.id = f.latest",
        repos=json_array(ids),
    )
    return sorted(rows, key=lambda row: ids.index(row["id"]))


def count(db: Connection, wanted: TopicFilter) -> Matches:
    """Return the number of matching repositories, up to MOST."""
    source, given = wanted.sql(db)
    return matches_of(db, f"SELECT r.id{source}", **given)
