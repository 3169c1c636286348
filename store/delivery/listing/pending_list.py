"""The deliveries that wait for a hook, the next ones first."""

from store.database.connection import Connection, Row, json_array
from store.delivery import delivery_queries


def page(db: Connection, hook_id: int, limit: int, skip: int = 0) -> list[Row]:
    """Return the deliveries of a hook that wait, as `delivery_queries.page` returns them.

    Those that a worker has taken, and those that wait for others of their key, are left out.
    """
    ids = db.column(
        "SELECT x.id FROM delivery x WHERE x.hook_id = :hook_id AND x.state = 0"
        " AND x.lease_id IS NULL ORDER BY x.due_at, x.id LIMIT :limit OFFSET :skip",
        hook_id=hook_id,
        limit=limit,
        skip=skip,
    )
    given = {"ids": json_array(ids)}
    rows = delivery_queries.select(db, f"d.id {db.among('ids')}", given, limit)
    return sorted(rows, key=lambda row: (row["due_at"], row["id"]))
