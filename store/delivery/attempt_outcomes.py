"""Outcomes of attempts: their records, and their effects on deliveries and hooks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from store.clock import HOUR
from store.database.connection import Connection, Row, json_array
from store.database.notifications import Turn
from store.delivery import exhausted
from store.delivery.websub import websub
from store.hooks import hook_ordering, hook_secrets, hooks
from store.hooks.hook_secrets import Taken
from store.monitoring import hook_tallies, minute_counters
from store.monitoring.hook_tallies import NO_ANSWER
from store.monitoring.minute_counters import EVERYWHERE
from store.ordering import places
from store.ordering.delivery_states import BEHIND, DEAD, DELIVERED, WAITING
from store.ordering.stalled_keys import EndedDelivery
from store.trace_context import TraceContext

# The sum keeps the database from using the index on `lease_id`. A lease may have many deliveries,
# so the database must find the rows by their ids.
LEASE = "delivery.lease_id + 0"
INSERTED = (
    "delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at, duration,"
    " status_code, error, url, address, timings, request_head, response_head, response_body,"
    " instruction, installation_id, recorded_at"
)


@dataclass(slots=True)
class Outcome:
    """One attempt and its effect. Times are microseconds."""

    lease_id: int
    delivery_id: int
    hook_id: int
    event_id: int
    repo_id: int
    number: int
    redelivery: int
    started_at: int
    duration: int
    status_code: int | None
    error: str | None
    url: str
    address: str | None
    timings: str
    request_head: str
    response_head: str | None
    response_body: str | None
    state: int
    due_at: int
    disable: str | None = None
    """The reason to disable the hook at once, or None."""
    disable_after: int = 0
    """The hook is disabled if it has been failing for this long. 0 never disables it."""
    accepted_at: int | None = None
    """The time at which the event was accepted, or None for a redelivery."""
    cooldown_until: int | None = None
    """The time until which the endpoint gets no request, or None. The circuit breaker sets it."""
    held_until: int | None = None
    """The time until which the receiver asked for nothing more, or None."""
    throttled: bool = False
    """Whether the attempt uses up no retry, because it was answered 429."""
    instruction: str | None = None
    """The receiver's instruction, such as "retry-after=120", or None."""
    taken: Taken | None = None
    """The secret that the receiver has, if two are valid and this attempt showed which it is."""
    turn: Turn | None = None
    """The delivery's place, if its hook is ordered."""
    installation_id: int | None = None
    """The installation in the payload, if the hook belongs to an app."""
    recorded_at: int | None = None
    """The present time, if `duration` is not the time from the start until now."""
    trace: TraceContext | None = None
    """The attempt's own place in a trace, if its span is exported."""
    version: int = 0
    """The version of the hook for which the attempt was made."""
    died: bool = False
    """Whether the delivery is dead by this attempt. `record` sets it: another worker may have the
    delivery."""

    @property
    def ended_at(self) -> int:
        """Return when the answer came."""
        return self.recorded_at or self.started_at + self.duration

    def recorded(self) -> tuple[object, ...]:
        """Return the values of the columns in INSERTED."""
        return (
            self.delivery_id,
            self.hook_id,
            self.event_id,
            self.repo_id,
            self.number,
            self.redelivery,
            self.started_at,
            self.duration,
            self.status_code,
            self.error,
            self.url,
            self.address,
            self.timings,
            self.request_head,
            self.response_head,
            self.response_body,
            self.instruction,
            self.installation_id,
            self.recorded_at,
        )


def record(db: Connection, outcomes: Sequence[Outcome]) -> set[int]:
    """Record attempts and update their deliveries and hooks. Return the hooks that this disabled.

    If a delivery is no longer under the outcome's lease, another worker may hold it: the attempt is
    recorded, and the delivery's state stays. If the attempt succeeded and no worker holds the
    delivery, the delivery still becomes delivered, because it need not be sent again.
    """
    asked = [o for o in outcomes if o.disable is not None or o.held_until is not None]
    ordered = [outcome for outcome in outcomes if outcome.turn is not None]
    # Every transaction that changes the order locks it first, so that no two deadlock.
    changed = {outcome.hook_id for outcome in (*ordered, *asked)}
    orderings = hook_ordering.lock(db, changed) if changed else {}
    if asked:
        _ignore_former_receivers(db, asked)
    db.insert_many("attempt", INSERTED, [outcome.recorded() for outcome in outcomes])
    if throttled := [outcome for outcome in outcomes if outcome.throttled]:
        _count_throttled(db, throttled)
    _update_deliveries(db, outcomes)
    if ordered:
        _advance(db, orderings, ordered)
    if died := [(o.hook_id, o.delivery_id) for o in outcomes if o.died]:
        exhausted.count(db, died)
    gone = {o.hook_id: o.disable for o in outcomes if o.hook_id < 0 and o.disable is not None}
    if rests := {o.hook_id: (o.version, o.held_until) for o in asked if o.held_until is not None}:
        websub.hold(db, rests)
    known = _hooks(db, outcomes)
    _count(db, outcomes, {hook_id: repo_id for hook_id, repo_id, *_ in known})
    disabled = _update_hooks(db, outcomes, known)
    return disabled | websub.end_gone(db, gone) if gone else disabled


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
    changed = {id_ for (id_,) in db.tuples(f"{update} RETURNING delivery.id", rows=rows)}
    for outcome in outcomes:
        outcome.died = outcome.state == DEAD and outcome.delivery_id in changed


def _advance(db: Connection, orderings: dict[int, Row], outcomes: Sequence[Outcome]) -> None:
    """Pass on the turns of the keys in which deliveries have ended or failed."""
    stored = dict(
        db.tuples(
            f"SELECT d.id, d.state FROM {db.each('ids', id='integer')} AS w"
            " JOIN delivery d ON d.id = w.id",
            ids=json_array({o.delivery_id for o in outcomes}),
        )
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


def _count(db: Connection, outcomes: Sequence[Outcome], repo_ids: Mapping[int, int | None]) -> None:
    """Count attempts in this minute. `repo_ids` has the repository of each hook that is of one."""
    for outcome in outcomes:
        repo_id = repo_ids.get(outcome.hook_id) or EVERYWHERE
        minute_counters.increment(db, (repo_id, _counted(outcome)))


def _counted(outcome: Outcome) -> tuple[int, ...]:
    if outcome.died:
        return minute_counters.FAILED, minute_counters.DEAD
    if outcome.state != DELIVERED:
        return (minute_counters.FAILED,)
    if outcome.number > 1 or outcome.accepted_at is None:
        return (minute_counters.DELIVERED,)
    latency = outcome.ended_at - outcome.accepted_at
    return minute_counters.DELIVERED, minute_counters.bucket_of(latency)


def _hooks(db: Connection, outcomes: Sequence[Outcome]) -> Sequence[tuple[Any, ...]]:
    return db.tuples(
        "SELECT id, repo_id, version, active, failing_since, held_until, url FROM hook WHERE id IN"
        f" (SELECT id FROM {db.each('hooks', id='integer')} AS w) ORDER BY id",
        hooks=json_array({outcome.hook_id for outcome in outcomes}),
    )


def _update_hooks(
    db: Connection, outcomes: Sequence[Outcome], known: Sequence[tuple[Any, ...]]
) -> set[int]:
    last = {outcome.hook_id: outcome for outcome in outcomes}
    # A success anywhere in the batch ends the failures before it. A request to disable the hook
    # stands, whatever comes after it.
    healthy = {outcome.hook_id for outcome in outcomes if outcome.state == DELIVERED}
    failing = {hook_id: o for hook_id, o in last.items() if o.state != DELIVERED}
    failing |= {outcome.hook_id: outcome for outcome in outcomes if outcome.disable is not None}
    taken = {o.hook_id: o.taken for o in outcomes if o.taken is not None}
    resting = {o.hook_id: o.cooldown_until for o in outcomes if o.cooldown_until is not None}
    held = {o.hook_id: o.held_until for o in outcomes if o.held_until is not None}
    # A hook's row is written only if it changes, and always in this order: several workers record
    # at the same time.
    disabled = set()
    for hook_id, _, version, active, began, held_before, url in known:
        fails = failing.get(hook_id) if active else None
        since = None if hook_id in healthy else began
        # A time that is far ahead was written by a clock that was fast.
        begins = since is None or since > db.now + HOUR
        if begins and fails is not None and fails.state != DELIVERED:
            since = db.now
        held_until = held.get(hook_id, held_before)
        if since != began or held_until != held_before or hook_id in resting:
            db.execute(
                "UPDATE hook SET failing_since = :since, resting_until = :until,"
                # An edit that came after these rows were read stays as it is.
                " held_until = :held_until WHERE id = :id AND version = :version",
                id=hook_id,
                version=version,
                since=since,
                until=resting.get(hook_id),
                held_until=held_until,
            )
        if fails is not None and fails.url == url and _disable(db, fails, since or db.now):
            disabled.add(hook_id)
        if hook_id in taken:
            hook_secrets.learn(db, hook_id, taken[hook_id])
    return disabled


def _disable(db: Connection, outcome: Outcome, since: int) -> bool:
    reason = outcome.disable
    if reason is None and outcome.disable_after and db.now - since >= outcome.disable_after:
        if not _still_failing(db, outcome, since):
            return False
        days = outcome.disable_after / 86_400_000_000
        reason = f"every delivery failed for {days:g} days; the last: {describe_failure(outcome)}"
    if reason is not None:
        hooks.disable(db, outcome.hook_id, reason)
    return reason is not None


def _still_failing(db: Connection, outcome: Outcome, since: int) -> bool:
    """Return whether the hook has been failing without a break since `since`, with this URL.

    Another worker may have delivered to it meanwhile. The update locks the row until this
    transaction ends.
    """
    return (
        db.execute(
            "UPDATE hook SET failing_since = :since"
            " WHERE id = :id AND failing_since = :since AND url = :url",
            id=outcome.hook_id,
            since=since,
            url=outcome.url,
        )
        > 0
    )


def describe_failure(outcome: Outcome) -> str:
    """Return the error, or the status code, in a few words."""
    return outcome.error or f"status {outcome.status_code}"
