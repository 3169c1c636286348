"""The keys of a hook as an operator sees them, and what an operator may do about one."""

import json
from typing import Any

from store.database.connection import Connection, Row
from store.errors import Conflict, Missing
from store.hooks import hook_ordering
from store.monitoring import minute_counters
from store.ordering import places, stalled_keys
from store.ordering.delivery_states import BEHIND, DEAD, WAITING
from store.ordering.stalled_keys import EndedDelivery
from store.ordering.turns import FREE, OPEN

SKIPPED, DISCARDED = "skipped by an operator", "discarded by an operator"
# The deliveries behind a key's first one are counted up to this number.
MOST_BEHIND = 1_000
LISTED = "k.gap, k.blocked_at, (SELECT e.guid FROM event e WHERE e.id = d.event_id) AS guid"


def overview(db: Connection, hook_id: int) -> Row | None:
    """Return a hook's `ordering`, newest `sequence`, `keyless` and number of `blocked` keys.

    `draining` says whether earlier deliveries must end before a changed ordering applies. Return
    None if the hook is not ordered.
    """
    row = db.one(
        "SELECT o.ordering, o.sequence, o.keyless, o.barriers, (SELECT count(*) FROM ordering_key k"
        " WHERE k.hook_id = o.hook_id AND k.blocked_at IS NOT NULL) AS blocked"
        " FROM hook_ordering o WHERE o.hook_id = :hook_id AND o.active = 1",
        hook_id=hook_id,
    )
    if row is not None:
        row["draining"] = bool(json.loads(row.pop("barriers")))
    return row


def keys(db: Connection, hook_id: int, limit: int) -> list[Row]:
    """Return the keys of a hook that have something to send, blocked and failing ones first.

    Each has its first delivery's `delivery_id`, `guid`, `sequence`, `attempts`, `due_at` and
    `held`, and `behind`, the number of deliveries that wait for it. A blocked key has the delivery
    that died, and `blocked_at`.
    """
    rows = db.all(
        "SELECT d.ordering_key AS key, d.id AS delivery_id, d.event_id, d.sequence, d.attempts,"
        f" d.due_at, CASE WHEN d.lease_id IS NULL THEN 0 ELSE 1 END AS held, {LISTED}"
        " FROM delivery d LEFT JOIN ordering_key k ON k.hook_id = d.hook_id"
        " AND k.key = d.ordering_key WHERE d.hook_id = :hook_id AND d.ordering_key IS NOT NULL"
        f" AND d.{OPEN} AND d.state = {WAITING} AND k.blocked_at IS NULL"
        " ORDER BY d.attempts DESC, d.id LIMIT :limit",
        hook_id=hook_id,
        limit=limit,
    )
    stopped = db.all(
        "SELECT k.key, d.id AS delivery_id, d.event_id, d.sequence, d.attempts, d.due_at,"
        f" 0 AS held, {LISTED} FROM ordering_key k JOIN delivery d ON d.id = k.blocked_by"
        " WHERE k.hook_id = :hook_id AND k.blocked_at IS NOT NULL ORDER BY k.blocked_at, k.id"
        " LIMIT :limit",
        hook_id=hook_id,
        limit=limit,
    )
    found = [*stopped, *rows][:limit]
    for row in found:
        row["gap"] = [] if row["gap"] is None else json.loads(row["gap"])
        row["behind"] = _behind(db, hook_id, row["key"])
    return found


def _behind(db: Connection, hook_id: int, key: str) -> int:
    return db.number(
        "SELECT count(*) FROM (SELECT x.id FROM delivery x WHERE x.hook_id = :hook_id"
        f" AND x.ordering_key = :key AND x.{OPEN} AND x.state = {BEHIND} LIMIT {MOST_BEHIND}) AS f",
        hook_id=hook_id,
        key=key,
    )


def skip(db: Connection, hook_id: int, key: str) -> None:
    """Go on with the next delivery of a key.

    If the key is blocked, it is blocked no more. If not, its first delivery dies. Raises Missing if
    the key has nothing to send, and Conflict if its first delivery is in flight.
    """
    orderings = hook_ordering.lock(db, [hook_id])
    if not stalled_keys.unblock(db, hook_id, key):
        died = _kill(db, hook_id, key, SKIPPED, limit=1)
        if not died:
            raise Missing(f"hook {hook_id} has nothing to skip under the key {key!r}")
        stalled_keys.apply(db, died, ())
    places.pass_on(db, orderings, [(hook_id, key)])


def discard(db: Connection, hook_id: int, key: str) -> int:
    """Let all deliveries of a key die, except for one in flight. Return their number.

    If the key is blocked, it is blocked no more. Raises Missing if it has nothing to send.
    """
    orderings = hook_ordering.lock(db, [hook_id])
    blocked = stalled_keys.unblock(db, hook_id, key)
    died = _kill(db, hook_id, key, DISCARDED, limit=None)
    if not died and not blocked:
        raise Missing(f"hook {hook_id} has nothing to discard under the key {key!r}")
    stalled_keys.apply(db, died[-stalled_keys.MOST_GAP :], ())
    places.pass_on(db, orderings, [(hook_id, key)])
    return len(died)


def _kill(
    db: Connection, hook_id: int, key: str, reason: str, *, limit: int | None
) -> list[EndedDelivery]:
    """Mark the first deliveries of a key as dead. Return them in their order."""
    first = (
        "SELECT x.id FROM delivery x WHERE x.hook_id = :hook_id"
        f" AND x.ordering_key = :key AND x.{OPEN} AND x.out_of_turn = 0 ORDER BY x.sequence"
    )
    given: dict[str, Any] = {"hook_id": hook_id, "key": key}
    if limit is not None:
        first = f"{first} LIMIT {limit}"
    rows = db.tuples(
        f"UPDATE delivery AS d SET state = {DEAD}, due_at = :now, reason = :reason WHERE {FREE}"
        f" AND d.{OPEN} AND d.id IN (SELECT f.id FROM ({first}) AS f)"
        f" RETURNING id, event_id, {minute_counters.COUNTED_FOR}, sequence",
        reason=reason,
        **given,
    )
    if not rows and db.value(f"SELECT count(*) FROM ({first}) AS f", **given):
        raise Conflict(f"the delivery of the key {key!r} is in flight: try again soon")
    for _, _, repo_id, _ in rows:
        minute_counters.increment(db, (repo_id, (minute_counters.DEAD,)))
    return [
        EndedDelivery(id_, event_id, hook_id, key, delivered=False)
        for id_, event_id, _, _ in sorted(rows, key=lambda row: row[3])
    ]
