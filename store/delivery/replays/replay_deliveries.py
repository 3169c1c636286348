"""The deliveries of a replay, which are made in batches."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from store.apps.event_installations import ABOUT_APPS, EventInstallations
from store.database.connection import Connection
from store.delivery import events, filtering
from store.delivery.replays import replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks.hook_ordering import orders
from store.monitoring import minute_counters
from store.ordering import places
from store.ordering.delivery_states import BEHIND, WAITING
from store.ordering.places import NewDelivery

FILTER = (
    f"CASE WHEN (SELECT e.name FROM event e WHERE e.id = delivery.event_id) IN ({ABOUT_APPS})"
    " AND EXISTS (SELECT 1 FROM hook h WHERE h.id = delivery.hook_id AND h.app_id IS NOT NULL)"
    f" THEN NULL ELSE {filtering.FILTER} END"
)
"""SQL like `filtering.FILTER`. An app's hook gets the events about the app in any case."""

# The largest window for a batch. Other writes wait for a batch.
LOOKED = 1_000


def create(
    db: Connection,
    chosen: ReplaySelection,
    after: int,
    until: int,
    limit: int,
    looked: int = LOOKED,
) -> tuple[int, int]:
    """Make about the next `limit` deliveries, from the next `looked` events after `after`.

    An event's deliveries are made together, so there may be a few more. `until` is inclusive.
    Return how many were made, and the id after which to continue (0: that was all).
    """
    last, many = replay_selection.window(db, chosen, after, until, looked)
    if not many:
        return 0, 0
    last, cut = _whole(db, chosen, after, last, limit)
    _hold(db, chosen, after, last)
    pairs, given = replay_selection.pairs_of(db, chosen, after, last)
    made = db.tuples(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at, redelivery)"
        f" SELECT p.event_id, p.hook_id, p.repo_id, CASE WHEN {orders('p.hook_id')}"
        f" THEN {BEHIND} ELSE {WAITING} END, :now, 1{pairs} ORDER BY p.event_id"
        f" RETURNING id, event_id, hook_id, repo_id, state, {FILTER}",
        **given,
    )
    installations = EventInstallations(db)
    made = _filter(db, made, installations)
    ordered = [
        NewDelivery(id_, event_id, hook_id, repo_id)
        for id_, event_id, hook_id, repo_id, state, _ in made
        if state == BEHIND
    ]
    if ordered:
        places.place(db, ordered, partial(_body, db), installations)
    db.wake_after_commit({row[2] for row in made})
    return len(made), last if cut or many == looked else 0


def _hold(db: Connection, chosen: ReplaySelection, after: int, last: int) -> None:
    """Lock the events of a window, so that retention deletes neither them nor their bodies."""
    if not db.for_change:
        return  # no other transaction writes meanwhile
    where, given = chosen.events(db)
    db.tuples(
        f"SELECT e.id FROM event e WHERE {where}e.id > :after AND e.id <= :last ORDER BY e.id"
        f"{db.for_change}",
        after=after,
        last=last,
        **given,
    )


def _filter(
    db: Connection, made: Sequence[tuple[Any, ...]], installations: EventInstallations
) -> Sequence[tuple[Any, ...]]:
    """Return the deliveries that their hooks' present filters do not leave out."""
    repo_ids = {row[1]: row[3] for row in made}
    kept, left_out = filtering.apply(db, made, partial(filtering.stored, db), installations)
    for event_id, _ in left_out:
        minute_counters.increment(db, (repo_ids[event_id], (minute_counters.FILTERED,)))
    return kept


def _body(db: Connection, event_id: int) -> bytes | None:
    row = events.get(db, event_id)
    return None if row is None else row["body"]


def _whole(
    db: Connection, chosen: ReplaySelection, after: int, last: int, limit: int
) -> tuple[int, bool]:
    """Return the id of the event with which the next `limit` deliveries end.

    Also return whether the window has more after it. One event's deliveries are not split.
    """
    pairs, given = replay_selection.pairs_of(db, chosen, after, last)
    found = db.column(
        f"SELECT p.event_id{pairs} ORDER BY p.event_id LIMIT :most", most=limit + 1, **given
    )
    if len(found) <= limit:
        return last, False
    ended = [event_id for event_id in found if event_id < found[-1]]
    return (ended or found)[-1], True
