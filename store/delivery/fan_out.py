"""The statement that creates the deliveries of new events, and what follows it."""

from collections.abc import Collection, Sequence
from typing import Any

from store.apps.event_installations import EventInstallations
from store.database.connection import Connection, json_array
from store.database.notifications import LeasedEvent, Turn
from store.delivery import filtering
from store.delivery.incoming import REPUBLISHED_SOURCE, IncomingEvent, Receipt
from store.delivery.websub import websub
from store.hook_state.hook_pauses import withholds
from store.hooks import pull_hooks
from store.hooks.event_names import FITTING, PLATFORM_EVENTS, WILDCARD
from store.hooks.hook_ordering import orders
from store.hooks.hook_targets import EVERYWHERE
from store.monitoring import minute_counters
from store.ordering import places
from store.ordering.delivery_states import BEHIND, WAITING
from store.ordering.places import NewDelivery

WIDER = (
    " LEFT JOIN repository r ON r.id = e.repo_id JOIN owner_subscription s"
    f" ON s.owner_id IN (COALESCE(r.owner_id, e.org_id), {EVERYWHERE})"
)
"""SQL that joins an event `e` with the hooks of its repository's owner, of the organization that it
belongs to without a repository, and of the whole installation.
"""

# So many full queues cost less than a query for the hooks that get an event.
FEW = 100


def fan_out(db: Connection, fresh: Sequence[tuple[Receipt, IncomingEvent]]) -> None:
    """Create the deliveries of new events, and count them in the receipts.

    After the commit, workers are notified, and receivers that fetch.
    """
    lease = db.notifier.lease()
    arrived = json_array(
        (receipt.event_id, one.repo_id, one.org_id, one.name, *_every(one.name))
        for receipt, one in fresh
    )
    made = db.tuples(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at, lease_id)"
        f" SELECT w.event_id, w.hook_id, w.repo_id, CASE WHEN {orders('w.hook_id')}"
        f" THEN {BEHIND} ELSE {WAITING} END, :now, CASE WHEN w.hook_id IN"
        f" (SELECT hook_id FROM {db.each('full', hook_id='integer')} AS f)"
        f" OR {withholds('w.hook_id')} THEN NULL ELSE CAST(:lease AS BIGINT) END"
        f" FROM ({_subscribed(db)}) AS w ORDER BY w.event_id, w.hook_id"
        f" RETURNING id, event_id, hook_id, lease_id, state, repo_id, {filtering.FILTER}",
        lease=lease,
        full="[]" if lease is None else json_array(_full(db, arrived)),
        events=arrived,
    )
    by_id = {receipt.event_id: (receipt, arrival) for receipt, arrival in fresh}
    installations = EventInstallations(db)
    if any(row[-1] for row in made):
        made = _filter(db, by_id, made, installations)
    turns: dict[int, Turn] = {}
    if any(row[4] == BEHIND for row in made):
        made, turns = _place(db, by_id, made, installations)
    _notify_worker(db, by_id, made, turns)


def _full(db: Connection, arrived: str) -> Collection[int]:
    """Return the hooks, among the ones that get the events, whose queues in the worker are full.

    If few are full, others may be among them.
    """
    full = db.notifier.full()
    if len(full) <= FEW:
        return full
    rows = db.tuples(f"SELECT DISTINCT w.hook_id FROM ({_subscribed(db)}) AS w", events=arrived)
    return [hook_id for (hook_id,) in rows if hook_id in full]


def _place(
    db: Connection,
    fresh: dict[int, tuple[Receipt, IncomingEvent]],
    made: Sequence[tuple[Any, ...]],
    installations: EventInstallations,
) -> tuple[list[tuple[Any, ...]], dict[int, Turn]]:
    """Put the deliveries of ordered hooks in order. Count the ones whose turn comes later.

    Return the others, and the turns of the ordered ones among them.
    """
    ordered = [
        NewDelivery(delivery_id, event_id, hook_id, repo_id, lease_id)
        for delivery_id, event_id, hook_id, lease_id, state, repo_id, _ in made
        if state == BEHIND
    ]
    turns = places.place(db, ordered, lambda event_id: fresh[event_id][1].body, installations)
    now = []
    for row in made:
        if row[4] == BEHIND and row[0] not in turns:
            fresh[row[1]][0].deliveries += 1
        else:
            now.append(row)
    return now, turns


def _filter(
    db: Connection,
    fresh: dict[int, tuple[Receipt, IncomingEvent]],
    made: Sequence[tuple[Any, ...]],
    installations: EventInstallations,
) -> Sequence[tuple[Any, ...]]:
    """Return the deliveries that their hooks' filters do not leave out."""

    def read(event_id: int) -> filtering.Document:
        arrival = fresh[event_id][1]
        return filtering.document(arrival.name, arrival.action, arrival.body)

    kept, left_out = filtering.apply(db, made, read, installations)
    for event_id, hook_id in left_out:
        receipt, arrival = fresh[event_id]
        receipt.filtered.append(hook_id)
        minute_counters.increment(db, (arrival.repo_id, (minute_counters.FILTERED,)))
    return kept


def _subscribed(db: Connection) -> str:
    """Return SQL for the hooks that get each of the :events.

    Each event in :events also has the names that `_every` returns.
    """
    integers = dict.fromkeys(("id", "repo_id", "org_id"), "integer")
    texts = dict.fromkeys(("name", "every", "every_of_repository"), "text")
    arrived = db.each("events", **integers, **texts)
    return (
        f"SELECT e.id AS event_id, s.hook_id, e.repo_id FROM {arrived} AS e"
        " JOIN subscription s ON s.repo_id = e.repo_id AND s.event IN (e.name,"
        " e.every_of_repository) UNION ALL"
        f" SELECT e.id, s.hook_id, e.repo_id FROM {arrived} AS e{WIDER}"
        " AND s.event IN (e.name, e.every)"
        # The database checks this condition first. If no such hook exists, it examines no event.
        " WHERE EXISTS (SELECT 1 FROM owner_subscription)"
    )


def _every(name: str) -> tuple[str, str]:
    """Return the second names under which subscriptions match: `*` for the platform's events.

    The last one is for hooks of repositories, whose `*` means fewer events.
    """
    return (
        WILDCARD if name in PLATFORM_EVENTS else name,
        WILDCARD if name in FITTING["repository"] else name,
    )


def _notify_worker(
    db: Connection,
    fresh: dict[int, tuple[Receipt, IncomingEvent]],
    made: Sequence[tuple[Any, ...]],
    turns: dict[int, Turn],
) -> None:
    """Notify the worker after the commit: dispatch its leased deliveries, wake it for the rest."""
    leased = [row for row in made if row[3] is not None]
    known = versions(db, {row[2] for row in leased}) if leased else {}
    offers: dict[int, LeasedEvent] = {}
    for delivery_id, event_id, hook_id, lease_id, *_ in made:
        receipt, arrival = fresh[event_id]
        receipt.deliveries += 1
        if lease_id is None:
            continue
        offer = offers.get(event_id)
        if offer is None:
            again = arrival.source_id == REPUBLISHED_SOURCE
            offer = offers[event_id] = LeasedEvent(
                lease_id, event_id, arrival.guid, arrival.name, arrival.body, db.now, [], again
            )
            offer.repo_id, offer.trace = arrival.repo_id, arrival.trace
        # If the hook is gone, it has no version, and the worker marks the delivery as dead.
        offer.deliveries.append((delivery_id, hook_id, known.get(hook_id, 0)))
        if delivery_id in turns:
            offer.turns[delivery_id] = turns[delivery_id]
    notifier = db.notifier
    if offers:
        db.after_commit(lambda: notifier.dispatch([*offers.values()]))
    if len(leased) < len(made):
        _wake(db, {row[2] for row in made if row[3] is None})


def _wake(db: Connection, hook_ids: set[int]) -> None:
    """Notify the workers, or the receivers of pull hooks, that deliveries wait in the store."""
    notifier, pulled = db.notifier, set(pull_hooks.among(db, hook_ids))
    others = hook_ids - pulled
    if others:
        db.after_commit(lambda: notifier.pushed(others))
    if pulled:
        db.after_commit(lambda: notifier.pulled(pulled))


def versions(db: Connection, hook_ids: set[int]) -> dict[int, int]:
    followers = [hook_id for hook_id in hook_ids if hook_id < 0]
    found = websub.versions(db, followers) if followers else {}
    return found | db.mapping(
        "SELECT id, version FROM hook WHERE id IN"
        f" (SELECT hook_id FROM {db.each('hooks', hook_id='integer')} AS w)",
        hooks=json_array(hook_ids),
    )
