"""Retention: the deletion of old data, in small batches, so that no other write waits long.

Ids grow with time, so the low end of the key has the oldest rows, without an index on time. But a
clock that was fast has given some rows a later time than the rows behind them. They do not keep the
rows behind them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from store.clock import LATEST
from store.database.connection import Connection, json_array
from store.database.id_search import RowTimes, id_before_older
from store.errors import Locked
from store.ordering.delivery_states import BEHIND, WAITING
from store.text_index import portions


@dataclass(frozen=True, slots=True)
class Step:
    """One step over old rows, which examines a limited number of them."""

    dropped: int
    """How many were deleted."""
    reached: int | None
    """The row from which the next step goes on. None: it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRows(RowTimes):
    """The rows of a table, and in SQL about how many bytes are deleted with one.

    SQLite may overwrite all that is deleted, and logs that.
    """

    length: str
    has_deliveries: bool = False


# The bytes, and the deliveries of events, that one step deletes. One row may have more.
MOST_BYTES = 8 * 1024 * 1024
MOST_DELIVERIES = 65_536
BODIES = OldRows("event", "received_at", "body IS NOT NULL", length="length(body)")
ATTEMPTS = OldRows("attempt", "started_at", length="coalesce(length(response_body), 0)")
# Notes about hooks. They have no foreign key, because the hook 0 stands for the whole installation.
# A hook's row goes here, or with its repository, its organization or its app.
OF_HOOKS = ("problem_note", "hook_silence", "exhausted", "mail_unsubscribed")
EVENTS = OldRows("event", "received_at", length="coalesce(length(body), 0)", has_deliveries=True)


def drop_bodies(
    db: Connection, before: int, limit: int, after: int = 0, upto: int = LATEST
) -> Step:
    """Delete the bodies of events received before a time, except those with a waiting delivery.

    It examines the next `limit` events after the event `after`, and none after `upto`.
    """
    return _step(db, BODIES, before, limit, after, _drop_bodies, upto)


def _drop_bodies(db: Connection, ids: list[int]) -> int:
    gone = db.column(
        f"UPDATE event SET body = NULL WHERE id {db.among('ids')}"
        " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event.id"
        f" AND d.state IN ({WAITING}, {BEHIND})) RETURNING id",
        ids=json_array(ids),
    )
    if gone:
        dropped = json_array(sorted(gone))
        _check_none_waits(db, dropped)
        portions.mark_events(db, dropped)
    return len(gone)


def _check_none_waits(db: Connection, event_ids: str) -> None:
    """Raise Locked if a delivery of these events waits.

    Another transaction may have added it while this one waited for the event's row. A second try
    keeps the event.
    """
    waiting = db.value(
        f"SELECT d.event_id FROM delivery d WHERE d.event_id {db.among('ids')}"
        f" AND d.state IN ({WAITING}, {BEHIND}) LIMIT 1",
        ids=event_ids,
    )
    if waiting is not None:
        raise Locked(f"a delivery of event {waiting} was added meanwhile")


def _step(
    db: Connection,
    times: OldRows,
    before: int,
    limit: int,
    after: int,
    drop: Callable[[Connection, list[int]], int],
    upto: int = LATEST,
) -> Step:
    """Pass the old ones of the next `limit` rows to `drop`, or of fewer if these are large.

    Rows that must stay do not hide the ones behind them, because the next step begins after them.
    If no row is old, the next step begins near the next older ones.
    """
    found = db.tuples(
        f"SELECT id, CASE WHEN {times.time} < :before THEN {times.length} END FROM {times.table}"
        f" WHERE {times.kept} AND id > :after AND id <= :upto ORDER BY id LIMIT :limit",
        before=before,
        after=after,
        upto=upto,
        limit=limit,
    )
    rows = _fitting(found)
    if rows and times.has_deliveries:
        last = _last_event(db, rows[0][0], rows[-1][0])
        rows = [row for row in rows if row[0] <= last]
    old = [row_id for row_id, length in rows if length is not None]
    dropped = drop(db, old) if old else 0
    if len(rows) == len(found) < limit:
        return Step(dropped, None)
    last = rows[-1][0]
    return Step(dropped, last if old else id_before_older(db, times, last, before))


def _fitting(rows: Sequence[tuple[int, int | None]]) -> Sequence[tuple[int, int | None]]:
    """Return the first of these rows, ids with lengths, whose lengths are MOST_BYTES together."""
    total = 0
    for at, (_, length) in enumerate(rows):
        total += length or 0
        if at and total > MOST_BYTES:
            return rows[:at]
    return rows


def _last_event(db: Connection, first: int, last: int) -> int:
    """Return the event up to which events from `first` have MOST_DELIVERIES, or `last`.

    It reads no more deliveries than these, because all other writers wait.
    """
    found = db.optional_number(
        "SELECT d.event_id FROM delivery d WHERE d.event_id >= :first AND d.event_id <= :last"
        " ORDER BY d.event_id LIMIT 1 OFFSET :others",
        first=first,
        last=last,
        others=MOST_DELIVERIES - 1,
    )
    return last if found is None else found


def drop_attempts(db: Connection, before: int, limit: int, after: int = 0) -> Step:
    """Delete attempts that began before a time.

    It examines the next `limit` attempts after the attempt `after`.
    """
    return _step(db, ATTEMPTS, before, limit, after, _drop_attempts)


def _drop_attempts(db: Connection, ids: list[int]) -> int:
    portions.mark_attempts(db, ids)
    return db.execute(
        f"DELETE FROM attempt WHERE id {db.among('ids')}",
        ids=json_array(ids),
    )


def drop_events(
    db: Connection, before: int, limit: int, after: int = 0, upto: int = LATEST
) -> Step:
    """Delete events received before a time, with their deliveries.

    An event stays while a delivery of it waits or an attempt is kept. It examines the next `limit`
    events after the event `after`, and none after `upto`.
    """
    return _step(db, EVENTS, before, limit, after, _drop_events, upto)


def _drop_events(db: Connection, ids: list[int]) -> int:
    done = db.column(
        f"SELECT e.id FROM event e WHERE e.id {db.among('ids')} AND NOT EXISTS (SELECT 1"
        f" FROM delivery d WHERE d.event_id = e.id AND (d.state IN ({WAITING}, {BEHIND})"
        " OR EXISTS (SELECT 1 FROM attempt a WHERE a.delivery_id = d.id)))",
        ids=json_array(ids),
    )
    dropped = db.delete_many("event", "id", done)
    _check_none_waits(db, json_array(done))
    db.delete_many("delivery", "event_id", done)
    return dropped


def drop_hooks(db: Connection, before: int, limit: int) -> int:
    """Delete up to `limit` rows of hooks that were deleted before a time. Return their number.

    If there are fewer, delete also the rows of OF_HOOKS whose hook has no row.
    """
    ids = db.column(
        "SELECT id FROM hook WHERE deleted_at < :before LIMIT :limit", before=before, limit=limit
    )
    db.delete_many("subscription", "hook_id", ids)
    db.delete_many("hook", "id", ids)
    if len(ids) < limit:
        for table in OF_HOOKS:
            db.execute(
                f"DELETE FROM {table} WHERE hook_id > 0"
                f" AND NOT EXISTS (SELECT 1 FROM hook h WHERE h.id = {table}.hook_id)"
            )
    return len(ids)
