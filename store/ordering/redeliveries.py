"""Redeliveries in ordered hooks: attempts out of turn, which neither block nor change the order."""

from collections.abc import Callable

from store.apps.event_installations import EventInstallations
from store.database.connection import Connection, Row
from store.hooks import hook_ordering
from store.ordering import turns
from store.ordering.delivery_states import BEHIND
from store.ordering.payload_keys import PayloadKeys


def redeliver(
    db: Connection,
    event_id: int,
    hook_id: int,
    repo_id: int,
    body_of: Callable[[int], bytes | None],
) -> int | None:
    """Add a redelivery to an ordered hook. Return its id, or None if the hook is not ordered.

    It has the key and the sequence number of the event's first delivery, and waits while another
    delivery of the key is in flight.
    """
    orderings = hook_ordering.lock(db, [hook_id])
    ordering = orderings.get(hook_id)
    if ordering is None or not ordering["active"]:
        return None
    key, sequence = _place_of(db, event_id, hook_id) or (
        _key_of(db, ordering, event_id, repo_id, body_of),
        None,
    )
    made = db.number(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at, redelivery,"
        " ordering_key, sequence, out_of_turn) VALUES (:event_id, :hook_id, :repo_id,"
        f" {BEHIND}, :now, 1, :key, CAST(:sequence AS BIGINT), 1) RETURNING id",
        event_id=event_id,
        hook_id=hook_id,
        repo_id=repo_id,
        key=key,
        sequence=sequence,
    )
    turns.settle(db, [(hook_id, key)], orderings)
    return made


def _key_of(
    db: Connection,
    ordering: Row,
    event_id: int,
    repo_id: int,
    body_of: Callable[[int], bytes | None],
) -> str:
    hook_id: int = ordering["hook_id"]
    app_id = hook_ordering.apps(db, {hook_id: ordering}).get(hook_id)
    keys = PayloadKeys(body_of, EventInstallations(db))
    return keys.key_of(ordering["ordering"], app_id, event_id, repo_id, 0)


def _place_of(db: Connection, event_id: int, hook_id: int) -> tuple[str, int] | None:
    found = db.tuples(
        "SELECT ordering_key, sequence FROM delivery WHERE event_id = :event_id"
        " AND hook_id = :hook_id AND ordering_key IS NOT NULL AND sequence IS NOT NULL"
        " ORDER BY id DESC LIMIT 1",
        event_id=event_id,
        hook_id=hook_id,
    )
    return found[0] if found else None
