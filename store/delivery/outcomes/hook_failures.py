"""The effects of attempts on their hooks: since when one fails, rests or is held, and its end."""

from collections.abc import Sequence
from typing import Any

from store.clock import HOUR
from store.database.connection import Connection, json_array
from store.delivery.outcomes.outcome import Outcome
from store.hooks import hook_secrets, hooks
from store.monitoring.minute_counters import OWNER
from store.ordering.delivery_states import DELIVERED


def known_hooks(db: Connection, outcomes: Sequence[Outcome]) -> Sequence[tuple[Any, ...]]:
    """Return the rows of the hooks for `update_hooks`. The id and the counts' OWNER come first."""
    return db.tuples(
        f"SELECT id, {OWNER}, version, active, failing_since, held_until, url FROM hook WHERE id"
        f" {db.among('hooks')} ORDER BY id",
        hooks=json_array({outcome.hook_id for outcome in outcomes}),
    )


def update_hooks(
    db: Connection, outcomes: Sequence[Outcome], known: Sequence[tuple[Any, ...]]
) -> set[int]:
    """Update the hooks of attempts. Return the hooks that this disabled."""
    # An answer of a former URL says nothing about the receiver that the hook has now.
    urls = {hook_id: url for hook_id, *_, url in known}
    outcomes = [outcome for outcome in outcomes if urls.get(outcome.hook_id) == outcome.url]
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
    for hook_id, _, version, active, began, held_before, _ in known:
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
        if fails is not None and _disable(db, fails, since or db.now):
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
        last = outcome.error or f"status {outcome.status_code}"
        reason = f"every delivery failed for {days:g} days; the last: {last}"
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
