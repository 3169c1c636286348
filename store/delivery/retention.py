"""Retention: the deletion of old data, in small batches, so that no other write waits long.

Ids grow with time, so the low end of the key has the oldest rows, without an index on time. Rows
with a time in the future are skipped: a clock that was fast has written them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from store.database.connection import Connection, json_array
from store.ordering.delivery_states import BEHIND, WAITING
from store.text_index import portions


@dataclass(frozen=True, slots=True)
class Step:
    """One step over old rows, which examines a limited number of them."""

    dropped: int
    """How many were deleted."""
    reached: int | None
    """The last row that was examined, from which the next step goes on. None: it is done."""


def drop_bodies(db: Connection, before: int, limit: int, after: int = 0) -> Step:
    """Delete the bodies of events received before a time, except those with a waiting delivery.

    It examines the next `limit` events after the event `after`.
    """
    return _step(db, "body IS NOT NULL AND id > :after", before, limit, after, _drop_bodies)


def _drop_bodies(db: Connection, ids: str) -> int:
    gone = db.tuples(
        "UPDATE event SET body = NULL WHERE id IN"
        f" (SELECT id FROM {db.each('ids', id='integer')} AS w)"
        " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event.id"
        f" AND d.state IN ({WAITING}, {BEHIND})) RETURNING id",
        ids=ids,
    )
    if gone:
        portions.mark_events(db, json_array(sorted(event_id for (event_id,) in gone)))
    return len(gone)


def _step(
    db: Connection,
    kept: str,
    before: int,
    limit: int,
    after: int,
    drop: Callable[[Connection, str], int],
) -> Step:
    """Pass the old ones of the next `limit` events to `drop`.

    Events that must stay do not hide the ones behind them, because the next step begins after them.
    """
    rows = db.tuples(
        f"SELECT id, received_at FROM event WHERE {kept} AND received_at <= :now"
        " ORDER BY id LIMIT :limit",
        after=after,
        limit=limit,
        now=db.now,
    )
    old = [event_id for event_id, received_at in rows if received_at < before]
    dropped = drop(db, json_array(old)) if old else 0
    return Step(dropped, rows[-1][0] if old and len(rows) == limit else None)


def drop_attempts(db: Connection, before: int, limit: int) -> int:
    """Delete attempts that began before a time. Return their number."""
    rows = db.tuples(
        "SELECT id, started_at FROM attempt WHERE started_at <= :now ORDER BY id LIMIT :limit",
        now=db.now,
        limit=limit,
    )
    old = [attempt_id for attempt_id, started_at in rows if started_at < before]
    portions.mark_attempts(db, old)
    db.execute(
        f"DELETE FROM attempt WHERE id IN (SELECT id FROM {db.each('ids', id='integer')} AS w)",
        ids=json_array(old),
    )
    return len(old)


def drop_events(db: Connection, before: int, limit: int, after: int = 0) -> Step:
    """Delete events received before a time, with their deliveries.

    An event stays while a delivery of it waits or an attempt is kept. It examines the next `limit`
    events after the event `after`.
    """
    return _step(db, "id > :after", before, limit, after, _drop_events)


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
