"""The recording of attempts, and their effects on deliveries."""

from collections.abc import Iterable, Mapping, Sequence

from store.database.connection import Connection, Row, json_array
from store.delivery import exhausted
from store.delivery.outcomes import hook_failures
from store.delivery.outcomes.outcome import INSERTED, Outcome
from store.delivery.websub import websub
from store.hooks import hook_ordering
from store.monitoring import hook_tallies, minute_counters
from store.monitoring.hook_tallies import NO_ANSWER
from store.monitoring.minute_counters import EVERYWHERE
from store.ordering import places
from store.ordering.delivery_states import BEHIND, DEAD, DELIVERED, WAITING
from store.ordering.stalled_keys import EndedDelivery

# The sum keeps the database from using the index on `lease_id`. A lease may have many deliveries,
# so the database must find the rows by their ids.
LEASE = "delivery.lease_id + 0"


def record(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
    """Record attempts and update their deliveries and hooks. Return the hooks that this disabled.

    If a delivery is no longer under the outcome's lease, another worker may hold it: the attempt is
    recorded, and the delivery's state stays. If the attempt succeeded and no worker holds the
    delivery, the delivery still becomes delivered, because it need not be sent again.
    """
    asked = [o for o in outcomes if o.disable is not None or o.held_until is not None]
    # Every transaction that changes the order locks it first, so that no two deadlock.
    changed = {o.hook_id for o in asked} | {o.hook_id for o in outcomes if o.turn is not None}
    orderings = hook_ordering.lock(db, changed) if changed else {}
    if asked:
        _ignore_former_receivers(db, asked)
    db.insert_many("attempt", INSERTED, [outcome.recorded() for outcome in outcomes])
    _update_states(db, outcomes, orderings)
    if died := [(o.hook_id, o.delivery_id) for o in outcomes if o.died]:
        exhausted.count(db, died)
    gone = {o.hook_id: o.disable for o in outcomes if o.hook_id < 0 and o.disable is not None}
    if rests := {o.hook_id: (o.version, o.held_until) for o in asked if o.held_until is not None}:
        websub.hold(db, rests)
    known = hook_failures.known_hooks(db, outcomes)
    _count(db, outcomes, {hook_id: owner for hook_id, owner, *_ in known})
    disabled = hook_failures.update_hooks(db, outcomes, known)
    return disabled | websub.end_gone(db, gone) if gone else disabled


def record_again(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
    """Record attempts, unless an earlier try did. They must be the same as in that try.

    If a connection is lost during a commit, its result is unknown. Recorded twice, each attempt
    would be shown and counted twice.
    """
    first = outcomes[0]
    recorded = db.exists(
        "SELECT 1 FROM attempt WHERE delivery_id = :delivery_id AND number = :number"
        " AND started_at = :started_at",
        delivery_id=first.delivery_id,
        number=first.number,
        started_at=first.started_at,
    )
    # The worker finds disabled hooks with its next poll, like those that others disable.
    return set() if recorded else record(db, outcomes)


def record_states(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
    """Update only the deliveries, because the attempts cannot be recorded. Disable no hooks."""
    ordered = {outcome.hook_id for outcome in outcomes if outcome.turn is not None}
    _update_states(db, outcomes, hook_ordering.lock(db, ordered) if ordered else {})
    return set()


def _update_states(db: Connection, outcomes: Sequence[Outcome], orderings: dict[int, Row]) -> None:
    if throttled := [outcome for outcome in outcomes if outcome.throttled]:
        _count_throttled(db, throttled)
    _update_deliveries(db, outcomes)
    if ordered := [outcome for outcome in outcomes if outcome.turn is not None]:
        _advance(db, orderings, ordered)


def _ignore_former_receivers(db: Connection, asked: Iterable[Outcome]) -> None:
    """Ignore what receivers asked for whose hooks have other URLs by now.

    A request to disable a hook is older than every change of the hook, such as its activation. A
    WebSub subscriber that has subscribed again since is a new receiver. If the former one has ended
    a delivery, the new one gets it.
    """
    # Until this transaction ends, no edit comes between this check and the changes of the hooks.
    rows = db.tuples(
        "SELECT id, url, CASE WHEN active = 1 THEN version END FROM hook WHERE id IN"
        f" (SELECT id FROM {db.each('ids', id='integer')} AS w) ORDER BY id{db.for_change}",
        ids=json_array({o.hook_id for o in asked}),
    )
    urls = {hook_id: url for hook_id, url, _ in rows}
    versions = {hook_id: version for hook_id, _, version in rows if version is not None}
    followers = {o.hook_id for o in asked if o.hook_id < 0 and o.disable is not None}
    versions |= websub.versions(db, followers, locked=True) if followers else {}
    for o in asked:
        moved = urls.get(o.hook_id, o.url) != o.url
        if moved:
            o.held_until = None
        if o.disable is not None and (moved or versions.get(o.hook_id, o.version) != o.version):
            if o.state == DEAD:
                # An ordered delivery gets its turn from `_advance`.
                o.state, o.due_at = WAITING if o.turn is None else BEHIND, db.now
            o.disable = None


def tally(counts: hook_tallies.Counts, outcomes: Sequence[Outcome]) -> None:
    """Count recorded attempts for the trends of their hooks. The counts are not written yet."""
    for outcome in outcomes:
        if outcome.hook_id > 0:
            code = outcome.status_code if outcome.error is None else None
            hook_tallies.count(counts, outcome.hook_id, code or NO_ANSWER, outcome.duration)


def _update_deliveries(db: Connection, outcomes: Sequence[Outcome]) -> None:
    update = (
        "UPDATE delivery SET state = r.state, attempts = r.number, due_at = r.due_at,"
        " lease_id = NULL FROM"
        + db.each(
            "rows",
            id="integer",
            lease_id="integer",
            state="integer",
            number="integer",
            due_at="integer",
        )
        + f" AS r WHERE delivery.id = r.id AND ({LEASE} = r.lease_id OR r.state = {DELIVERED}"
        f" AND delivery.state IN ({WAITING}, {BEHIND}) AND delivery.lease_id IS NULL)"
    )
    # Every transaction updates the rows in this order, so that no two deadlock.
    rows = json_array(
        (o.delivery_id, o.lease_id, o.state, o.number, o.due_at)
        for o in sorted(outcomes, key=lambda o: o.delivery_id)
    )
    if all(outcome.state != DEAD for outcome in outcomes):
        db.execute(update, rows=rows)
        return
    changed = set(db.column(f"{update} RETURNING delivery.id", rows=rows))
    for outcome in outcomes:
        outcome.died = outcome.state == DEAD and outcome.delivery_id in changed


def _advance(db: Connection, orderings: dict[int, Row], outcomes: Sequence[Outcome]) -> None:
    """Pass on the turns of the keys in which deliveries have ended or failed."""
    stored = db.mapping(
        f"SELECT d.id, d.state FROM {db.each('ids', id='integer')} AS w"
        " JOIN delivery d ON d.id = w.id",
        ids=json_array({o.delivery_id for o in outcomes}),
    )
    keys, ended = set(), []
    for o in outcomes:
        assert o.turn is not None
        keys.add((o.hook_id, o.turn.key))
        # If another worker holds the delivery, its state is not this outcome's.
        if o.state in (DELIVERED, DEAD) and stored.get(o.delivery_id) == o.state:
            ended.append(
                EndedDelivery(
                    o.delivery_id,
                    o.event_id,
                    o.hook_id,
                    o.turn.key,
                    delivered=o.state == DELIVERED,
                    out_of_turn=o.turn.out_of_turn,
                )
            )
    places.advance(db, orderings, keys, ended)


def _count_throttled(db: Connection, outcomes: Sequence[Outcome]) -> None:
    db.execute(
        "UPDATE delivery SET throttled = throttled + 1 FROM"
        f" {db.each('rows', id='integer', lease_id='integer')} AS r"
        f" WHERE delivery.id = r.id AND {LEASE} = r.lease_id",
        # In the order of `record`, so that no two transactions deadlock.
        rows=json_array(sorted((o.delivery_id, o.lease_id) for o in outcomes)),
    )


def _count(db: Connection, outcomes: Sequence[Outcome], owners: Mapping[int, int | None]) -> None:
    """Count attempts in this minute. `owners` has the OWNER of each hook's counts."""
    places: dict[int, list[int]] = {}
    for outcome in outcomes:
        owner = owners.get(outcome.hook_id) or EVERYWHERE
        places.setdefault(owner, []).extend(_counted(outcome))
    for counts in places.items():
        minute_counters.increment(db, counts)


def _counted(outcome: Outcome) -> tuple[int, ...]:
    if outcome.died:
        return minute_counters.FAILED, minute_counters.DEAD
    if outcome.state != DELIVERED:
        return (minute_counters.FAILED,)
    if outcome.number > 1 or outcome.accepted_at is None:
        return (minute_counters.DELIVERED,)
    latency = outcome.ended_at - outcome.accepted_at
    return minute_counters.DELIVERED, minute_counters.bucket_of(latency)
