"""Keys in which a delivery has died: the gap that the next request reports, and the block.

A key has a row from the death of a delivery until a later one is delivered. So nearly no key has
one.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from store.database.connection import Connection, json_array
from store.ordering.turns import Key

# A gap names this many events at most, the latest.
MOST_GAP = 20
UNBLOCKED = "blocked_by = NULL, blocked_event_id = NULL, blocked_at = NULL"


@dataclass(slots=True)
class EndedDelivery:
    """An ordered delivery that was delivered or died."""

    id: int
    event_id: int
    hook_id: int
    key: str
    delivered: bool
    out_of_turn: bool = False


def gaps(db: Connection, keys: Collection[Key]) -> dict[Key, tuple[str, ...]]:
    """Return the guids of the events that died, for each of these keys that has a gap."""
    rows = db.tuples(
        f"SELECT k.hook_id, k.key, k.gap FROM {db.each('keys', hook_id='integer', key='text')} AS w"
        " JOIN ordering_key k ON k.hook_id = w.hook_id AND k.key = w.key",
        keys=json_array(keys),
    )
    return {(hook_id, key): tuple(json.loads(gap)) for hook_id, key, gap in rows}


def blocked(db: Connection, keys: Collection[Key]) -> set[Key]:
    """Return which of these keys wait for an operator."""
    rows = db.tuples(
        f"SELECT k.hook_id, k.key FROM {db.each('keys', hook_id='integer', key='text')} AS w"
        " JOIN ordering_key k ON k.hook_id = w.hook_id AND k.key = w.key"
        " WHERE k.blocked_at IS NOT NULL",
        keys=json_array(keys),
    )
    return {(hook_id, key) for hook_id, key in rows}


def apply(db: Connection, ended: Iterable[EndedDelivery], blocking: Collection[int]) -> None:
    """Record what the end of these deliveries means for their keys.

    A death in a hook of `blocking` blocks its key. A delivery closes the gap of its key. If an
    operator redelivered the event that blocks a key and it was delivered, the key is free again.
    """
    closed: list[Key] = []
    for one in ended:
        if not one.delivered:
            if not one.out_of_turn:
                add_gap(db, one, block=one.hook_id in blocking)
        elif one.out_of_turn:
            _free(db, one)
        else:
            closed.append((one.hook_id, one.key))
    if closed:
        db.execute(
            "DELETE FROM ordering_key WHERE blocked_at IS NULL AND id IN (SELECT k.id FROM"
            f" {db.each('keys', hook_id='integer', key='text')} AS w JOIN ordering_key k"
            " ON k.hook_id = w.hook_id AND k.key = w.key)",
            keys=json_array(closed),
        )


def add_gap(db: Connection, died: EndedDelivery, *, block: bool) -> None:
    """Add an event to the gap of its key, and block the key if `block`."""
    key = died.hook_id, died.key
    guid = db.value("SELECT guid FROM event WHERE id = :id", id=died.event_id)
    known = gaps(db, [key]).get(key, ())
    gap = known if guid in known or guid is None else (*known, guid)[-MOST_GAP:]
    db.execute(
        "INSERT INTO ordering_key (hook_id, key, gap, blocked_by, blocked_event_id, blocked_at)"
        " VALUES (:hook_id, :key, :gap, CAST(:by AS BIGINT), CAST(:event_id AS BIGINT),"
        " CAST(:at AS BIGINT)) ON CONFLICT (hook_id, key) DO UPDATE SET gap = excluded.gap,"
        " blocked_by = excluded.blocked_by, blocked_event_id = excluded.blocked_event_id,"
        " blocked_at = excluded.blocked_at",
        hook_id=died.hook_id,
        key=died.key,
        gap=json.dumps(gap),
        by=died.id if block else None,
        event_id=died.event_id if block else None,
        at=db.now if block else None,
    )


def unblock(db: Connection, hook_id: int, key: str) -> bool:
    """End the block of a key. Its gap stays. Return whether it was blocked."""
    return (
        db.execute(
            f"UPDATE ordering_key SET {UNBLOCKED}"
            " WHERE hook_id = :hook_id AND key = :key AND blocked_at IS NOT NULL",
            hook_id=hook_id,
            key=key,
        )
        > 0
    )


def unblock_all(db: Connection, hook_id: int) -> list[Key]:
    """End the blocks of all keys of a hook. Return these keys. Their gaps stay."""
    keys = db.column(
        f"UPDATE ordering_key SET {UNBLOCKED} WHERE hook_id = :hook_id AND blocked_at IS NOT NULL"
        " RETURNING key",
        hook_id=hook_id,
    )
    return [(hook_id, key) for key in keys]


def _free(db: Connection, one: EndedDelivery) -> None:
    row = db.one(
        "SELECT id, gap FROM ordering_key WHERE hook_id = :hook_id AND key = :key"
        " AND blocked_event_id = :event_id",
        hook_id=one.hook_id,
        key=one.key,
        event_id=one.event_id,
    )
    if row is None:
        return
    guid = db.value("SELECT guid FROM event WHERE id = :id", id=one.event_id)
    gap = [other for other in json.loads(row["gap"]) if other != guid]
    unblock(db, one.hook_id, one.key)
    if gap:
        sql = "UPDATE ordering_key SET gap = :gap WHERE id = :id"
        db.execute(sql, gap=json.dumps(gap), id=row["id"])
    else:
        db.delete("ordering_key", id=row["id"])
