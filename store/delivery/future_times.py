"""Times too far ahead: a clock that was fast has written them, and they are ignored.

Otherwise a retry or a leased delivery would stay away for as long as the clock was fast.
"""

from store.clock import MINUTE, SKEW
from store.database.connection import Connection, json_array
from store.database.id_search import each_value
from store.delivery.deliveries import DUE
from store.delivery.leases import LONGEST_ATTEMPT
from store.ordering.delivery_states import BEHIND
from store.ordering.turns import OPEN

WAITS = "x.state = 0 AND x.lease_id IS NULL"
# An index has the condition OPEN. A hook is found by those that wait, so they are changed last.
FOUND = (
    f"x.ordering_key IS NOT NULL AND x.{OPEN} AND x.state = {BEHIND} AND x.lease_id IS NULL",
    WAITS,
)

# The tables whose newest rows tell how far the clock was ahead: the time of a row, the deliveries
# that it has made due later, and the attempts of a delivery that may have made it due since then.
TABLES = {
    "attempt": (
        "started_at",
        "SELECT w.delivery_id FROM attempt w",
        "a.delivery_id = w.delivery_id AND a.id > w.id",
    ),
    "event": (
        "received_at",
        "SELECT d.id FROM event w JOIN delivery d ON d.event_id = w.id",
        "a.delivery_id = d.id",
    ),
}
# Rows that are written after the clock is put back may be so old (microseconds) when that is seen.
RECENT = 2 * MINUTE


def find_later(db: Connection, table: str, before: int, limit: int) -> tuple[int, bool] | None:
    """Examine up to `limit` rows of one of the TABLES, the newest with ids below `before`.

    Return the lowest id of them, and whether one is of a time after now. Return None if no older
    row can be of a time after now.
    """
    newest = (
        f"SELECT id, {TABLES[table][0]} FROM {table} WHERE id < :before"
        " ORDER BY id DESC LIMIT :limit"
    )
    rows = db.tuples(newest, before=before, limit=limit)
    latest = max((row[1] for row in rows), default=0)
    return None if latest < db.now - RECENT else (rows[-1][0], latest > db.now + SKEW)


def end_delays_of_later(db: Connection, table: str, first: int, before: int) -> None:
    """Make deliveries due now that wait since a time after now: the clock has been put back.

    They belong to the rows of one of the TABLES whose ids are from `first` to below `before`. Those
    that were attempted again since then keep their times, because each start of a worker looks.
    Those that may be in flight stay until that attempt has ended.
    """
    column, deliveries, since = TABLES[table]
    changed = db.column(
        "UPDATE delivery SET due_at = CASE WHEN in_flight_until > :until THEN :until"
        " WHEN in_flight_until > :now THEN in_flight_until ELSE :now END, in_flight_until ="
        " CASE WHEN in_flight_until > :until THEN :until ELSE in_flight_until END"
        f" WHERE {OPEN} AND lease_id IS NULL AND due_at > :now AND id IN"
        f" ({deliveries} WHERE w.id >= :first AND w.id < :before AND w.{column} > :ahead"
        f" AND NOT EXISTS (SELECT 1 FROM attempt a WHERE {since} AND a.started_at <= :ahead))"
        " RETURNING hook_id",
        first=first,
        before=before,
        ahead=db.now + SKEW,
        until=db.now + LONGEST_ATTEMPT,
    )
    if hook_ids := set(changed):
        chosen = json_array(hook_ids)
        of_these = db.among("chosen")
        _end_holds(db, db.now, f" AND id {of_these}", f" AND -id {of_these}", chosen=chosen)
        db.wake_after_commit(hook_ids)


def shorten_leases_of_later(db: Connection) -> None:
    """Let leases of workers that were renewed after now last as if they were renewed now."""
    db.execute(
        "UPDATE lease SET expires_at = expires_at - seen_at + :now, seen_at = :now"
        " WHERE seen_at > :now"
    )


def end_far_delays(db: Connection, ahead: int, limit: int) -> int:
    """Make deliveries due now that are due after `ahead`, and end the holds of hooks until then.

    `ahead` is a time in microseconds that no delay reaches. Return how many deliveries were
    changed. If fewer than `limit`, none is left.
    """
    hook_ids = _end_holds(db, ahead)
    changed = 0
    for hook_id in _hooks(db, ahead):
        for condition in FOUND:
            changed += _make_due(db, hook_id, condition, ahead, limit - changed)
        hook_ids.append(hook_id)
    if hook_ids:
        db.wake_after_commit(hook_ids)
    return changed


def end_far_leases(db: Connection, ahead: int, limit: int) -> int:
    """Let leases of workers, and open ones of pull hooks, expire now that expire after `ahead`.

    A worker that lives renews its own. Return how many leases of pull hooks there were. If fewer
    than `limit`, none is left.
    """
    db.execute("UPDATE lease SET expires_at = :now WHERE expires_at > :ahead", ahead=ahead)
    return db.execute(
        "UPDATE pull_lease SET expires_at = :now WHERE id IN (SELECT id FROM pull_lease"
        " WHERE ended_at IS NULL AND expires_at > :ahead LIMIT :limit)",
        ahead=ahead,
        limit=limit,
    )


def end_far_websub_times(db: Connection, ahead: int, limit: int) -> int:
    """Make requests and topics of WebSub due now that are due or claimed until after `ahead`.

    Requests that were done after `ahead` are made older, so that they do not count as recent.
    Return how many rows were changed. If fewer than `limit`, none is left.
    """
    due_now = "due_at = :now, taken_until = 0"
    far = "(w.due_at > :ahead OR w.taken_until > :ahead)"
    many = 0
    for table, changes, condition in (
        ("websub_request", due_now, f"w.done_at IS NULL AND {far}"),
        ("websub_request", "created_at = :now, done_at = :now", "w.done_at > :ahead"),
        ("websub_topic", due_now, f"w.due_at IS NOT NULL AND {far}"),
    ):
        many += db.execute(
            f"UPDATE {table} SET {changes} WHERE id IN"
            f" (SELECT w.id FROM {table} w WHERE {condition} LIMIT :limit)",
            ahead=ahead,
            limit=limit - many,
        )
    return many


def _hooks(db: Connection, ahead: int) -> list[int]:
    """Return the hooks with deliveries that are due after `ahead`.

    The query steps from hook to hook through the index, and looks at the last delivery of each.
    """
    return db.column(
        f"{each_value('delivery', 'hook_id', WAITS)}"
        " SELECT w.hook_id FROM w WHERE w.hook_id IS NOT NULL"
        f" AND EXISTS (SELECT 1 FROM delivery x WHERE {DUE} AND x.due_at > :ahead)",
        ahead=ahead,
    )


def _make_due(db: Connection, hook_id: int, condition: str, ahead: int, limit: int) -> int:
    return db.execute(
        "UPDATE delivery SET due_at = :now, in_flight_until ="
        " CASE WHEN in_flight_until > :ahead THEN NULL ELSE in_flight_until END"
        " WHERE lease_id IS NULL AND id IN (SELECT x.id FROM delivery x"
        f" WHERE x.hook_id = :hook_id AND {condition} AND x.due_at > :ahead LIMIT :limit)",
        hook_id=hook_id,
        ahead=ahead,
        limit=limit,
    )


def _end_holds(
    db: Connection, ahead: int, hooks: str = "", subscriptions: str = "", **chosen: str
) -> list[int]:
    end = "SET held_until = NULL, version = version + 1 WHERE held_until > :ahead"
    return [
        *db.column(f"UPDATE hook {end}{hooks} RETURNING id", ahead=ahead, **chosen),
        *db.column(f"UPDATE websub {end}{subscriptions} RETURNING -id", ahead=ahead, **chosen),
    ]
