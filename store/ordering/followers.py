"""Followers: deliveries that are sent in one request with the first delivery of their key.

A follower has the lease of the first one and stays BEHIND, so nothing else can claim it. If the
first one ends before it, the follower gets the turn with its lease (`turns.settle`). So it is not
lost if the lease ends then.
"""

from collections.abc import Collection
from dataclasses import dataclass

from store.database.connection import Connection, json_array
from store.database.notifications import Turn
from store.hooks import hook_ordering
from store.ordering.delivery_states import BEHIND, WAITING
from store.ordering.turns import FREE, OPEN, Key


@dataclass(frozen=True, slots=True)
class Follower:
    """A delivery that follows the first one of its key."""

    id: int
    event_id: int
    attempts: int
    redelivery: int
    throttled: int
    due_at: int
    turn: Turn


def claim(
    db: Connection, key: Key, first: tuple[int, Turn], lease_id: int, limit: int
) -> list[Follower]:
    """Claim up to `limit` deliveries that follow the first one of a key, without a gap.

    `first` is the id and the turn of that delivery. It must be under the lease, and no redelivery.
    """
    delivery_id, turn = first
    barriers = [row["barriers"] for row in hook_ordering.lock(db, [key[0]]).values()]
    if not barriers or not _is_held(db, delivery_id, lease_id):
        return []
    rows = db.tuples(
        "SELECT d.id, d.event_id, d.attempts, d.redelivery, d.throttled, d.due_at, d.sequence,"
        f" CASE WHEN d.state = {BEHIND} AND {FREE} THEN 1 ELSE 0 END,"
        " (SELECT min(a.started_at) FROM attempt a WHERE a.delivery_id = d.id)"
        f" FROM delivery d WHERE d.hook_id = :hook_id AND d.ordering_key = :key AND d.{OPEN}"
        " AND d.out_of_turn = 0 AND d.sequence > :after ORDER BY d.sequence LIMIT :limit",
        hook_id=key[0],
        key=key[1],
        after=turn.sequence,
        limit=limit,
    )
    found = []
    for id_, event_id, attempts, redelivery, throttled, due_at, sequence, is_free, since in rows:
        if not is_free or (barriers[0] and sequence > barriers[0][0]):
            break
        turn = Turn(key[1], sequence, since=since)
        found.append(Follower(id_, event_id, attempts, redelivery, throttled, due_at, turn))
    _lease(db, [one.id for one in found], lease_id)
    return found


def _is_held(db: Connection, delivery_id: int, lease_id: int) -> bool:
    return db.exists(
        f"SELECT 1 FROM delivery WHERE id = :id AND lease_id = :lease_id AND state = {WAITING}",
        id=delivery_id,
        lease_id=lease_id,
    )


def _lease(db: Connection, ids: Collection[int], lease_id: int) -> None:
    if ids:
        db.execute(
            f"UPDATE delivery SET lease_id = :lease_id WHERE id {db.among('ids')}",
            ids=json_array(sorted(ids)),
            lease_id=lease_id,
        )
