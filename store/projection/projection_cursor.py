"""The cursor of the projection.

It moves in the transaction of the changes. So each event is projected once and in order, even if
the worker crashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from store.database.connection import Connection, Row, json_array
from store.errors import StoreError

# The limits of one read: events, and bytes of large events.
MOST_EVENTS = 200
MOST_BYTES = 1_000_000
COLUMNS = "id, name, action, repo_id, source_id, received_at, installation_id, body"
NOTHING_YET: Row = {"event_id": 0, "skipped": 0, "lease_id": None, "moved_at": 0}


class CursorMoved(StoreError):
    """Another worker has moved the cursor."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Events up to `upto` were seen, but ids before it are missing.

    They may be in open transactions, which are in `writers`.
    """

    upto: int
    writers: frozenset[str]


@dataclass(slots=True)
class PendingEvents:
    """The events to project after the cursor `after`, up to `upto`, with compressed bodies.

    `gap` is the gap that must be resolved before more events can follow, or None.
    """

    after: int
    upto: int
    events: list[Row] = field(default_factory=list)
    gap: Gap | None = None


def claim(db: Connection, lease_id: int) -> bool:
    """Claim the projection for this worker. Return False if another live worker has it."""
    updated = db.execute(
        "INSERT INTO reflection (id, event_id, lease_id, moved_at) VALUES (1, 0, :lease_id, :now)"
        " ON CONFLICT (id) DO UPDATE SET lease_id = excluded.lease_id"
        " WHERE reflection.lease_id IS NULL OR reflection.lease_id = excluded.lease_id"
        " OR NOT EXISTS (SELECT 1 FROM lease l"
        " WHERE l.id = reflection.lease_id AND l.expires_at > :now)",
        lease_id=lease_id,
    )
    return updated > 0


def state(db: Connection) -> Row:
    """Return event_id, skipped, lease_id, moved_at, and `newest`: the id of the newest event."""
    row = db.one("SELECT event_id, skipped, lease_id, moved_at FROM reflection WHERE id = 1")
    newest = db.value("SELECT max(id) FROM event") or 0
    return {**(row or NOTHING_YET), "newest": newest}


def pending(db: Connection, gap: Gap | None) -> PendingEvents:
    """Return the next events to project.

    The database assigns ids before transactions end. So a missing id may still appear, and the
    cursor waits at it while a transaction that may have it is open.
    """
    # This comes before the events are read: what an ended transaction wrote is then visible.
    over = gap is not None and not gap.writers & db.writers("event")
    after = state(db)["event_id"]
    rows = db.tuples(
        "SELECT id, size, source_id FROM event WHERE id > :after ORDER BY id LIMIT :limit",
        after=after,
        limit=MOST_EVENTS,
    )
    upto = _settled([row[0] for row in rows], after, gap.upto if over and gap is not None else 0)
    found = PendingEvents(after, upto)
    if rows and upto < rows[-1][0]:
        # This comes after the read: a transaction with a missing id got it before the next id was
        # seen.
        found.gap = Gap(rows[-1][0], db.writers("event")) if over or gap is None else gap
    # The state already has the events that were written here.
    _fill(db, found, [row[:2] for row in rows if row[0] <= upto and row[2] >= 0])
    return found


def will_rename(db: Connection, repo_id: int) -> bool:
    """Return whether an event of a source that is still to become state renames a repository."""
    return db.exists(
        "SELECT e.id FROM event e WHERE e.repo_id = :repo_id AND e.name = 'repository'"
        " AND e.id > (SELECT coalesce(max(event_id), 0) FROM reflection)"
        " AND e.action = 'renamed' AND e.source_id > 0 LIMIT 1",
        repo_id=repo_id,
    )


def _settled(ids: Sequence[int], after: int, final: int) -> int:
    """Return the last id before which no other can appear, or `after`."""
    upto = after
    for event_id in ids:
        if event_id != upto + 1 and event_id > final:
            break
        upto = event_id
    return upto


def _fill(db: Connection, found: PendingEvents, sized: Sequence[tuple[int, int]]) -> None:
    chosen: list[int] = []
    total = 0
    for event_id, size in sized:
        total += size
        if chosen and total > MOST_BYTES:
            found.upto = chosen[-1]
            break
        chosen.append(event_id)
    if chosen:
        found.events = db.all(
            f"SELECT {COLUMNS} FROM event WHERE id {db.among('ids')}"
            " AND body IS NOT NULL ORDER BY id",
            ids=json_array(chosen),
        )


def skip(db: Connection, after: int, event_id: int) -> None:
    """Move the cursor past an event that cannot be projected. Raises CursorMoved."""
    move(db, after, event_id)
    db.execute("UPDATE reflection SET skipped = skipped + 1 WHERE id = 1")


def move(db: Connection, after: int, upto: int) -> None:
    """Move the cursor from one event to another. Raises CursorMoved."""
    moved = db.execute(
        "UPDATE reflection SET event_id = :upto, moved_at = :now"
        " WHERE id = 1 AND event_id = :after",
        upto=upto,
        after=after,
    )
    if not moved:
        raise CursorMoved("another worker projects the events")
