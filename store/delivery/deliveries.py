"""The queue of deliveries, from which workers claim. `delivery_queries` has their records."""

from collections.abc import Iterable
from dataclasses import dataclass

from store.apps.event_installations import EventInstallations
from store.database import body_codec
from store.database.connection import Connection, json_array
from store.database.id_search import each_value
from store.database.notifications import Turn
from store.delivery.outcomes.attempt_outcomes import LEASE
from store.delivery.websub import websub
from store.errors import Invalid
from store.hook_state.hook_pauses import WITHHELD, withholds
from store.hooks import hook_ordering
from store.monitoring import minute_counters
from store.ordering import places, redeliveries
from store.ordering.delivery_states import DEAD
from store.ordering.places import NewDelivery
from store.ordering.stalled_keys import EndedDelivery

DUE = "x.hook_id = w.hook_id AND x.state = 0 AND x.lease_id IS NULL"


@dataclass(slots=True)
class ClaimedDelivery:
    """A delivery under the worker's lease."""

    id: int
    event_id: int
    hook_id: int
    attempts: int
    redelivery: int
    version: int
    throttled: int = 0
    turn: Turn | None = None
    """The delivery's place among the deliveries of its key, if its hook is ordered."""
    due_at: int = 0
    """Since when it has been due, in microseconds."""


def claim(
    db: Connection, hook_ids: Iterable[int], lease_id: int, limit: int
) -> tuple[list[ClaimedDelivery], dict[int, int]]:
    """Claim up to `limit` due deliveries for each of these hooks, oldest first.

    Also return, for each hook with more waiting deliveries, when the next one is due. Paused hooks
    and pull hooks are left out of both.
    """
    wanted = json_array(hook_ids)
    first = (
        f"SELECT x.id FROM delivery x WHERE {DUE} AND x.due_at <= :now"
        f" ORDER BY x.due_at LIMIT :limit{db.skip_locked}"
    )
    chosen = (
        f"SELECT d.id FROM {db.each('hooks', hook_id='integer')} AS w"
        f" {db.lateral('delivery', 'd', first)} WHERE NOT {withholds('w.hook_id')}"
    )
    rows = db.tuples(
        f"UPDATE delivery SET lease_id = :lease_id WHERE id {db.chosen(chosen)}"
        " RETURNING id, event_id, hook_id, attempts, redelivery, due_at, throttled, ordering_key,"
        " (SELECT h.version FROM hook h WHERE h.id = delivery.hook_id)",
        hooks=wanted,
        lease_id=lease_id,
        limit=limit,
    )
    subscriptions = {row[2] for row in rows if row[2] < 0}
    versions = websub.versions(db, subscriptions) if subscriptions else {}
    in_order = [row[0] for row in rows if row[7] is not None]
    turns = places.turns_of(db, in_order) if in_order else {}
    ordered = sorted(rows, key=lambda row: (row[5], row[0]))
    claimed = [
        ClaimedDelivery(
            row_id,
            event_id,
            hook_id,
            tries,
            redelivery,
            # A hook that is gone has no version, and the worker marks its deliveries as dead.
            version or versions.get(hook_id, 0),
            throttled,
            turns.get(row_id),
            due_at,
        )
        for row_id, event_id, hook_id, tries, redelivery, due_at, throttled, _, version in ordered
    ]
    return claimed, next_due(db, wanted)


def next_due(db: Connection, hook_ids: str) -> dict[int, int]:
    """Return when the first waiting delivery of each hook is due, except for paused hooks
    and pull hooks.

    `hook_ids` is a `json_array`.
    """
    return {
        hook_id: due_at
        for hook_id, due_at in db.tuples(
            f"SELECT w.hook_id, (SELECT x.due_at FROM delivery x WHERE {DUE}"
            f" ORDER BY x.due_at LIMIT 1) FROM {db.each('hooks', hook_id='integer')} AS w"
            f" WHERE NOT {withholds('w.hook_id')}",
            hooks=hook_ids,
        )
        if due_at is not None
    }


def waiting_hooks(db: Connection) -> dict[int, int]:
    """Return each hook that has a waiting delivery, and when its first one is due.

    Paused hooks and pull hooks are left out.
    The query steps from hook to hook through the index, so its cost grows with the number of hooks
    and not of deliveries.
    """
    waiting = "x.state = 0 AND x.lease_id IS NULL"
    return db.mapping(
        f"{each_value('delivery', 'hook_id', waiting)}"
        f" SELECT w.hook_id, (SELECT x.due_at FROM delivery x WHERE {DUE}"
        " ORDER BY x.due_at LIMIT 1) FROM w WHERE w.hook_id IS NOT NULL"
        f" AND w.hook_id NOT IN {WITHHELD}"
    )


def release(db: Connection, lease_id: int, delivery_ids: Iterable[int]) -> int:
    """Release deliveries that were claimed and not attempted. Return their number."""
    return db.execute(
        f"UPDATE delivery SET lease_id = NULL WHERE {LEASE} = :lease_id AND id {db.among('ids')}",
        lease_id=lease_id,
        ids=json_array(delivery_ids),
    )


def mark_dead(db: Connection, lease_id: int, delivery_ids: Iterable[int], reason: str) -> int:
    """Mark deliveries as dead because they cannot be attempted any more. Return their number."""
    ids = json_array(delivery_ids)
    # Most deliveries are not ordered, and then this finds no key.
    keyed = db.tuples(
        "SELECT d.hook_id, d.ordering_key FROM delivery d WHERE d.ordering_key IS NOT NULL"
        f" AND d.id {db.among('ids')}",
        ids=ids,
    )
    orderings = hook_ordering.lock(db, {row[0] for row in keyed}) if keyed else {}
    marked = db.tuples(
        f"UPDATE delivery SET state = {DEAD}, lease_id = NULL, due_at = :now, reason = :reason"
        f" WHERE {LEASE} = :lease_id AND id {db.among('ids')}"
        f" RETURNING {minute_counters.COUNTED_FOR}, id, event_id, hook_id, ordering_key,"
        " out_of_turn",
        lease_id=lease_id,
        ids=ids,
        reason=reason,
    )
    for row in marked:
        minute_counters.increment(db, (row[0], (minute_counters.DEAD,)))
    if keyed:
        ended = [
            EndedDelivery(id_, event_id, hook_id, key, delivered=False, out_of_turn=bool(out))
            for _, id_, event_id, hook_id, key, out in marked
            if key is not None
        ]
        # An operator could not deliver these either, so they do not block their keys.
        places.advance(db, orderings, keyed, ended, may_block=False)
    return len(marked)


def enqueue(
    db: Connection,
    event_id: int,
    hook_id: int,
    repo_id: int,
    *,
    redelivery: bool = False,
    in_order: bytes | None = None,
) -> int:
    """Add a delivery of an event to a hook, due now. Return the delivery's id.

    If `in_order` has the event's body and the hook is ordered, the delivery waits for the earlier
    deliveries of its key.
    """
    made = db.number(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at, redelivery)"
        " VALUES (:event_id, :hook_id, :repo_id, 0, :now, :redelivery) RETURNING id",
        event_id=event_id,
        hook_id=hook_id,
        repo_id=repo_id,
        redelivery=int(redelivery),
    )
    if in_order is not None and _is_ordered(db, hook_id):
        one = NewDelivery(made, event_id, hook_id, repo_id)
        places.place(db, [one], lambda _: in_order, EventInstallations(db))
    db.wake_after_commit([hook_id])
    return made


def _is_ordered(db: Connection, hook_id: int) -> bool:
    return db.exists("SELECT 1 FROM hook_ordering WHERE hook_id = :id AND active = 1", id=hook_id)


def redeliver(db: Connection, event_id: int, hook_id: int, repo_id: int) -> int:
    """Deliver an event to a hook once more, under the same guid. Return the new delivery's id.

    In an ordered hook it is an attempt out of turn. Raises Invalid if the event's body is no longer
    kept.
    """
    # Retention deletes neither body nor event while their row is locked.
    body = db.value(f"SELECT body FROM event WHERE id = :id{db.for_change}", id=event_id)
    if body is None:
        raise Invalid(
            "the payload of this delivery is no longer kept, so it cannot be sent again",
            field="delivery_id",
            code="unprocessable",
            resource="HookDelivery",
        )
    made = redeliveries.redeliver(
        db, event_id, hook_id, repo_id, lambda _: body_codec.decompress(body)
    )
    return made or enqueue(db, event_id, hook_id, repo_id, redelivery=True)
