"""The events of a hook in their order, for receivers that catch up."""

from dataclasses import dataclass
from itertools import takewhile

from store.clock import LATEST, SECOND
from store.database.connection import Connection, Row, json_array
from store.delivery import events
from store.delivery.delivery_queries import STATES
from store.hooks.hook_targets import target_of

# A page examines up to this many events, and returns payloads of up to so many bytes. It begins
# with fewer events, because these mostly fill it.
LOOKED, MOST_BYTES = 5_000, 4 * 1024 * 1024
FIRST_LOOKED = 200
# A transaction assigns the ids of its events within so many microseconds of its start.
LONGEST_WRITE = 30 * SECOND


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events, the oldest first. `next_after` is None if no more events follow."""

    rows: list[Row]
    next_after: int | None


def page(db: Connection, hook: Row, after: int, limit: int) -> EventPage:
    """Return the hook's events with ids above `after`, each with the `state` of its delivery.

    A page may be short, because few of the events that were examined are the hook's.
    """
    for looked in (FIRST_LOOKED, LOOKED):
        examined, more = _examined(db, hook, after, looked)
        states = dict(_delivered(db, hook["id"], examined)[:limit])
        if len(states) == limit or not more:
            break
    kept = events.get_many(db, [*states], MOST_BYTES)
    rows = [{**row, "state": STATES[states[row["id"]]]} for row in kept.values() if row is not None]
    if rows and (len(states) == limit or len(kept) < len(states)):
        return EventPage(rows, rows[-1]["id"])
    return EventPage(rows, examined[-1] if len(examined) == looked else None)


def _examined(db: Connection, hook: Row, after: int, looked: int) -> tuple[list[int], bool]:
    """Return ids of events that may be the hook's, and whether there are more than these.

    They are in order, without a gap that may be filled: the database assigns ids before
    transactions end, so an id may appear after a higher one.
    """
    target = target_of(hook)
    own = " AND e.repo_id = :repo_id" if target.kind == "repository" else ""
    given = {"repo_id": target.id} if own else {}
    newest = db.optional_number("SELECT max(id) FROM event") or 0
    # Each event with an id up to `newest` is being written now, or is visible from now on.
    age = db.oldest_writer("event")
    rows = db.tuples(
        f"SELECT e.id, e.received_at FROM event e WHERE e.id > :after AND e.id <= :newest{own}"
        " ORDER BY e.id LIMIT :limit",
        after=after,
        newest=newest,
        limit=looked,
        **given,
    )
    # If a lower id than one of these may still appear, its transaction was open when that one was
    # assigned.
    settled = LATEST if age is None else db.now - age - LONGEST_WRITE
    ids = [event_id for event_id, _ in takewhile(lambda row: row[1] < settled, rows)]
    return ids, len(rows) == looked


def _delivered(db: Connection, hook_id: int, event_ids: list[int]) -> list[tuple[int, int]]:
    """Return which of these events have a delivery to the hook, and the state of the latest."""
    rows = db.tuples(
        f"SELECT w.id, max(d.id) FROM {db.each('ids', id='integer')} AS w JOIN delivery d"
        " ON d.event_id = w.id AND d.hook_id = :hook_id GROUP BY w.id ORDER BY w.id",
        ids=json_array(event_ids),
        hook_id=hook_id,
    )
    states = db.mapping(
        f"SELECT d.id, d.state FROM {db.each('ids', id='integer')} AS w"
        " JOIN delivery d ON d.id = w.id",
        ids=json_array(row[1] for row in rows),
    )
    return [(event_id, states[delivery_id]) for event_id, delivery_id in rows]
