"""Retention: the deletion of old data, in small batches, so that no other write waits long.

Ids grow with time, so the low end of the key has the oldest rows, without an index on time.
"""

from collections.abc import Callable

from store.database.connection import Connection, json_array
from store.ordering.delivery_states import BEHIND, WAITING
from store.text_index import portions


def drop_bodies(db: Connection, before: int, limit: int) -> int:
    """Delete the bodies of events received before a time, except those with a waiting delivery.

    Return how many were deleted. If fewer than `limit`, none is left.
    """

    def drop(ids: str) -> int:
        portions.mark_events(db, ids)
        return db.execute(
            "UPDATE event SET body = NULL WHERE id IN"
            f" (SELECT id FROM {db.each('ids', id='integer')} AS w)"
            " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event.id"
            f" AND d.state IN ({WAITING}, {BEHIND}))",
            ids=ids,
        )

    return _in_windows(db, "body IS NOT NULL AND id > :after", before, limit, drop)


def _in_windows(
    db: Connection, kept: str, before: int, limit: int, drop: Callable[[str], int]
) -> int:
    """Pass the ids of old events to `drop`, `limit` at a time, until it has deleted `limit` of them
    or no more are left. Events that must stay do not hide the ones behind them.
    """
    dropped, after = 0, 0
    while dropped < limit:
        rows = db.tuples(
            f"SELECT id, received_at FROM event WHERE {kept} ORDER BY id LIMIT :limit",
            after=after,
            limit=limit,
        )
        old = [event_id for event_id, received_at in rows if received_at < before]
        dropped += drop(json_array(old))
        if len(old) < limit:
            break
        after = old[-1]
    return dropped


def drop_attempts(db: Connection, before: int, limit: int) -> int:
    """Delete attempts that began before a time. Return their number."""
    rows = db.tuples("SELECT id, started_at FROM attempt ORDER BY id LIMIT :limit", limit=limit)
    old = [attempt_id for attempt_id, started_at in rows if started_at < before]
    portions.mark_attempts(db, old)
    db.execute(
        f"DELETE FROM attempt WHERE id IN (SELECT id FROM {db.each('ids', id='integer')} AS w)",
        ids=json_array(old),
    )
    return len(old)


def drop_events(db: Connection, before: int, limit: int) -> int:
    """Delete events received before a time, with their deliveries. Return the number of events.

    An event stays while a delivery of it waits or an attempt is kept. If the number is less than
    `limit`, none is left to delete.
    """
    return _in_windows(db, "id > :after", before, limit, lambda ids: _drop_events(db, ids))


def _drop_events(db: Connection, ids: str) -> int:
    chosen = f"(SELECT id FROM {db.each('ids', id='integer')} AS w)"
    done = [
        row[0]
        for row in db.tuples(
            f"SELECT e.id FROM event e WHERE e.id IN {chosen} AND NOT EXISTS (SELECT 1"
            f" FROM delivery d WHERE d.event_id = e.id AND (d.state IN ({WAITING}, {BEHIND})"
            " OR EXISTS (SELECT 1 FROM attempt a WHERE a.delivery_id = d.id)))",
            ids=ids,
        )
    ]
    db.execute(f"DELETE FROM delivery WHERE event_id IN {chosen}", ids=json_array(done))
    db.execute(f"DELETE FROM event WHERE id IN {chosen}", ids=json_array(done))
    return len(done)


def drop_hooks(db: Connection, before: int) -> int:
    """Delete the rows of hooks that were deleted before a time. Return their number."""
    gone = "(SELECT x.id FROM hook x WHERE x.deleted_at < :before)"
    for table in ("problem_note", "hook_silence", "exhausted", "mail_unsubscribed"):
        db.execute(f"DELETE FROM {table} WHERE hook_id IN {gone}", before=before)
    return db.execute("DELETE FROM hook WHERE deleted_at < :before", before=before)
