"""Redeliveries of attempts that somebody selected, and their progress."""

from collections.abc import Iterable

from store.database.connection import Connection, Row, json_array
from store.delivery import deliveries, delivery_queries
from store.delivery.attempts import REPOSITORY
from store.ordering.delivery_states import BEHIND, WAITING


def candidates(db: Connection, attempt_ids: Iterable[int]) -> list[Row]:
    """Return what a redelivery of these attempts sends: each event to each hook once.

    A row has the latest `id` of the attempts, `event_id`, `hook_id`, `repo_id`, `org_id`, `event`,
    `action`, `url` and `repository`, and whether the event's payload is `kept` and the hook is
    `there`.
    """
    return db.all(
        "SELECT max(a.id) AS id, a.event_id, a.hook_id, a.repo_id, e.org_id, e.name AS event,"
        f" e.action, COALESCE(h.url, max(a.url)) AS url, {REPOSITORY},"
        " CASE WHEN e.body IS NULL THEN 0 ELSE 1 END AS kept,"
        " CASE WHEN h.id IS NULL OR h.deleted_at IS NOT NULL THEN 0 ELSE 1 END AS there"
        f" FROM {db.each('ids', wanted='integer')} AS w JOIN attempt a ON a.id = w.wanted"
        " JOIN event e ON e.id = a.event_id LEFT JOIN hook h ON h.id = a.hook_id"
        " LEFT JOIN repository r ON r.id = a.repo_id LEFT JOIN account o ON o.id = r.owner_id"
        " GROUP BY a.event_id, a.hook_id, a.repo_id, e.org_id, e.name, e.action, h.url,"
        " h.org_id, h.id, h.deleted_at, o.id, o.login, r.name,"
        " CASE WHEN e.body IS NULL THEN 0 ELSE 1 END"
        " ORDER BY 1 DESC",
        ids=json_array(attempt_ids),
    )


def create(db: Connection, chosen: Iterable[Row]) -> list[int]:
    """Deliver each of these candidates once more. Return the ids of the deliveries."""
    return [
        once_more(db, row["event_id"], row["hook_id"], row["repo_id"])
        # Orderings are locked in this sequence, so that no two transactions deadlock.
        for row in sorted(chosen, key=lambda row: int(row["hook_id"]))
    ]


def once_more(db: Connection, event_id: int, hook_id: int, repo_id: int) -> int:
    """Deliver an event to a hook once more. Return the id of the delivery.

    If an earlier redelivery still waits for its first attempt, it is enough: no other is made.
    """
    db.alone(f"redelivery {event_id} {hook_id}")
    waiting = db.optional_number(
        "SELECT max(id) FROM delivery WHERE event_id = :event_id AND hook_id = :hook_id"
        f" AND redelivery = 1 AND attempts = 0 AND state IN ({WAITING}, {BEHIND})",
        event_id=event_id,
        hook_id=hook_id,
    )
    return waiting or deliveries.redeliver(db, event_id, hook_id, repo_id)


def of_ids(db: Connection, delivery_ids: Iterable[int], limit: int) -> list[Row]:
    """Return these deliveries as `delivery_queries.page` does, newest first."""
    chosen = f"d.id {db.among('ids')}"
    return delivery_queries.select(db, chosen, {"ids": json_array(delivery_ids)}, limit)


def states(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many of these deliveries wait, were delivered, or failed."""
    found = dict.fromkeys(delivery_queries.STATES.values(), 0)
    for row in rows:
        found[row["state"]] += 1
    return found
