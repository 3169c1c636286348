"""Deliveries without an attempt left, counted for each hook until an alert reports them."""

from collections.abc import Iterable

from store.database.connection import Connection, Row
from store.hook_state.hook_silences import SILENCED


def count(db: Connection, died: Iterable[tuple[int, int]]) -> None:
    """Count deliveries that died. Each is a hook's id and the delivery's."""
    found: dict[int, list[int]] = {}
    for hook_id, delivery_id in died:
        if hook_id > 0:
            found.setdefault(hook_id, []).append(delivery_id)
    # Every transaction writes the rows in this order, so that no two deadlock.
    for hook_id in sorted(found):
        db.execute(
            "INSERT INTO exhausted (hook_id, many, first_id, last_id, since, last_at)"
            " VALUES (:hook_id, :many, :first, :last, :now, :now) ON CONFLICT (hook_id) DO UPDATE"
            " SET many = exhausted.many + excluded.many, last_id = excluded.last_id,"
            " last_at = excluded.last_at",
            hook_id=hook_id,
            many=len(found[hook_id]),
            first=found[hook_id][0],
            last=found[hook_id][-1],
        )


def list_older(db: Connection, age: int, limit: int) -> list[Row]:
    """Return the counts of hooks that are not silenced, if they began `age` microseconds ago.

    A time that is as far ahead was written by a clock that was fast. It counts as old.
    """
    return db.all(
        "SELECT hook_id, many, first_id, last_id, since, last_at FROM exhausted"
        f" WHERE (since <= :before OR since > :ahead) AND hook_id NOT IN {SILENCED}"
        " ORDER BY since, hook_id LIMIT :limit",
        before=db.now - age,
        ahead=db.now + age,
        limit=limit,
    )


def take(db: Connection, hook_id: int) -> Row | None:
    """Remove and return a hook's count, or None if another process took it."""
    rows = db.all(
        "DELETE FROM exhausted WHERE hook_id = :hook_id"
        " RETURNING hook_id, many, first_id, last_id, since, last_at",
        hook_id=hook_id,
    )
    return rows[0] if rows else None
