"""The portions of the index: the attempts of WIDTH consecutive ids each.

A portion is indexed as a whole, and by itself: any of them may be missing. It is added once no
attempt can join it. After a deletion its index still has all that it needs. It is made again later,
so that nothing of the deleted texts stays.
"""

from collections.abc import Collection
from dataclasses import dataclass

from store.clock import DAY
from store.database.connection import Connection, json_array

# Attempts in a portion.
WIDTH = 512
# Microseconds after a first deletion until the portion is indexed again, together with others.
DELAY = DAY
LOCK = "text portions"


@dataclass(frozen=True, slots=True)
class IndexHorizon:
    """The newest attempt that was seen, and the transactions that may still add an older one."""

    newest: int
    writers: frozenset[str]


@dataclass(frozen=True, slots=True)
class IndexPortion:
    """A portion to be indexed, and how often something of it was deleted before it was read."""

    number: int
    removals: int


def horizon(db: Connection) -> IndexHorizon:
    newest = db.value("SELECT max(id) FROM attempt") or 0
    # This comes after the read: a transaction with a missing id got it before the newest was seen.
    return IndexHorizon(newest, db.writers("attempt"))


def settled(db: Connection, seen: IndexHorizon) -> bool:
    """Return whether no attempt can be added any more before the horizon."""
    return not seen.writers or not seen.writers & db.writers("attempt")


def find_new(db: Connection, newest: int, limit: int) -> list[int]:
    """Return the next portions to be added that are complete at the id `newest`."""
    last = db.value("SELECT max(portion) FROM text_portion")
    found: list[int] = []
    at = 0 if last is None else int(last) + 1
    while len(found) < limit:
        first = db.value("SELECT min(id) FROM attempt WHERE id >= :start", start=at * WIDTH)
        if first is None or (first // WIDTH + 1) * WIDTH > newest + 1:
            break
        found.append(first // WIDTH)
        at = found[-1] + 1
    return found


def add(db: Connection, numbers: Collection[int]) -> None:
    """Add portions, to be indexed now."""
    # A deletion then finds the portion, or is seen by those who read it later.
    db.alone(LOCK)
    rows = [(number, 0, None, db.now) for number in numbers]
    db.insert_many("text_portion", "portion, removals, indexed_at, due_at", rows)


def next_due(db: Connection) -> IndexPortion | None:
    """Return the newest portion that is to be indexed now, or None."""
    row = db.one(
        "SELECT portion, removals FROM text_portion WHERE due_at <= :now"
        " ORDER BY portion DESC LIMIT 1"
    )
    return None if row is None else IndexPortion(row["portion"], row["removals"])


def attempts(db: Connection, number: int) -> dict[int, int]:
    """Return the ids of a portion's attempts, and of their events."""
    return db.mapping(
        "SELECT id, event_id FROM attempt WHERE id >= :first AND id < :end",
        first=number * WIDTH,
        end=(number + 1) * WIDTH,
    )


def answers(db: Connection, first: int, end: int) -> list[tuple[int, str]]:
    """Return the ids from `first` to before `end` of attempts with answers, and the answers."""
    rows = db.tuples(
        "SELECT id, response_body FROM attempt WHERE id >= :first AND id < :end"
        " AND response_body IS NOT NULL",
        first=first,
        end=end,
    )
    return [(row[0], row[1]) for row in rows]


def mark_attempts(db: Connection, attempt_ids: Collection[int]) -> None:
    """Have the portions of these attempts indexed again, because the attempts are deleted."""
    if not is_empty(db):
        _mark(db, {number // WIDTH for number in attempt_ids})


def mark_events(db: Connection, event_ids: str) -> None:
    """Have the portions of these events' attempts indexed again, because payloads are deleted.

    `event_ids` is a `json_array`.
    """
    if is_empty(db):
        return
    found = db.column(
        f"SELECT DISTINCT a.id / {WIDTH} FROM {db.each('ids', id='integer')} AS w"
        " JOIN delivery d ON d.event_id = w.id JOIN attempt a ON a.delivery_id = d.id",
        ids=event_ids,
    )
    _mark(db, set(found))


def _mark(db: Connection, numbers: Collection[int]) -> None:
    db.alone(LOCK)
    db.execute(
        "UPDATE text_portion SET removals = removals + 1, due_at = coalesce(due_at, :due_at)"
        f" WHERE portion {db.among('portions')}",
        due_at=db.now + DELAY,
        portions=json_array(sorted(numbers)),
    )


def is_empty(db: Connection) -> bool:
    return db.value("SELECT portion FROM text_portion LIMIT 1") is None


def find_without_attempts(db: Connection, limit: int) -> list[int]:
    """Return portions whose attempts are all deleted, oldest first."""
    oldest = db.value("SELECT min(id) FROM attempt")
    if oldest is None:
        return find(db, limit)
    return db.column(
        "SELECT portion FROM text_portion WHERE portion < :end ORDER BY portion LIMIT :limit",
        end=oldest // WIDTH,
        limit=limit,
    )


def find(db: Connection, limit: int) -> list[int]:
    """Return portions, newest first."""
    query = "SELECT portion FROM text_portion ORDER BY portion DESC LIMIT :limit"
    return db.column(query, limit=limit)


def drop(db: Connection, numbers: Collection[int]) -> None:
    """Delete portions with their index."""
    for table in ("text_slice", "text_portion"):
        db.delete_many(table, "portion", sorted(numbers))
