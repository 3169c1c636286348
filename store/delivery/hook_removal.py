"""The removal of hooks. A removed hook leaves no delivery that waits for ever.

A deleted hook keeps its row, and the worker ends its waiting deliveries, each in its turn. If the
row goes with the hook's target, the deliveries end before it.
"""

from contextlib import suppress

from store.database.connection import Connection, Row
from store.database.id_search import each_value
from store.errors import Missing
from store.hooks import hook_ordering, hook_subscriptions, hooks
from store.hooks.hook_targets import HookTarget
from store.ordering import places, stalled_keys
from store.ordering.delivery_states import BEHIND, DEAD, WAITING
from store.ordering.turns import OPEN

GONE = "the hook is gone"
KEYED = f"x.ordering_key IS NOT NULL AND x.{OPEN}"
# The waiting deliveries that a transaction ends. All other writers wait for it.
MOST = 5_000
# The deliveries that have not ended, in the words of the indexes that find them. The ones that wait
# for others end first, so that none of them is left behind a delivery that has ended.
UNENDED = (f"{KEYED} AND x.state = {BEHIND}", f"x.state = {WAITING}")


def delete(db: Connection, hook: Row) -> None:
    """Mark a hook as deleted. Retention deletes its row later, because deliveries may need it.

    A pause ends, and blocked keys are free, so that its last event is delivered. The worker ends
    what a pull hook's receiver has not fetched. Raises Missing if the hook is deleted already.
    """
    hook = hooks.lock(db, hook)
    _free_keys(db, hook["id"])
    hook_subscriptions.remove(db, hook)
    db.execute(
        "UPDATE hook SET deleted_at = :now, active = 0, paused_at = NULL, pull = 0,"
        " version = version + 1 WHERE id = :id",
        id=hook["id"],
    )
    hooks.notify_changed(db, hook["id"])


def _free_keys(db: Connection, hook_id: int) -> None:
    """Let no key of a hook wait for an operator, now or later."""
    orderings = hook_ordering.lock(db, [hook_id])
    hook_ordering.end(db, hook_id)
    keys = stalled_keys.unblock_all(db, hook_id)
    if keys:
        places.pass_on(db, orderings, keys)


def delete_all(db: Connection, target: HookTarget) -> None:
    """Delete all hooks of a target that is about to go, so that they get no more events."""
    for row in db.all(
        f"SELECT {hooks.COLUMNS} FROM hook WHERE {target.condition} AND deleted_at IS NULL",
        target_id=target.id,
    ):
        # Another hub may be deleting some of them.
        with suppress(Missing):
            delete(db, hooks.decode_row(row))


def end_hooks(db: Connection, target: HookTarget, reason: str) -> None:
    """Mark the waiting deliveries of a target's hooks as dead, before the hooks go with it.

    The subscriptions of an app's hook end here: they belong to repositories, which stay.
    """
    hook_ids = db.column(f"SELECT id FROM hook WHERE {target.condition}", target_id=target.id)
    while end_deliveries(db, target, reason, MOST):
        pass
    delete_all(db, target)
    db.wake_after_commit(hook_ids)


def count_unended(db: Connection, target: HookTarget) -> int:
    """Return how many deliveries of a target's hooks have not ended, claimed or not."""
    behind, waits = UNENDED
    claims = (f"{waits} AND x.lease_id IS NULL", f"{waits} AND x.lease_id IS NOT NULL")
    counts = (
        f"(SELECT count(*) FROM delivery x WHERE {unended}"
        f" AND x.hook_id IN (SELECT id FROM hook WHERE {target.condition}))"
        for unended in (behind, *claims)
    )
    return db.number(f"SELECT {' + '.join(counts)}", target_id=target.id)


def end_part(db: Connection, target: HookTarget, reason: str, left: int) -> int:
    """End up to `left` deliveries of a target's hooks. Return how many more may end.

    At 0, more of them may have to end in the next part. Then the hooks get no more events.
    """
    left -= end_deliveries(db, target, reason, left)
    if not left:
        delete_all(db, target)
    return left


def end_deliveries(db: Connection, target: HookTarget, reason: str, most: int) -> int:
    """Mark up to `most` waiting deliveries of a target's hooks as dead. Return their number."""
    ended = 0
    for unended in UNENDED:
        # A worker that holds a delivery notices by itself that the hook is gone.
        chosen = (
            f"SELECT x.id FROM delivery x WHERE {unended} AND x.lease_id IS NULL AND x.hook_id IN"
            f" (SELECT id FROM hook WHERE {target.condition}) LIMIT :most"
        )
        ended += db.execute(
            f"UPDATE delivery SET state = {DEAD}, due_at = :now, reason = :reason"
            # A worker may have claimed some of them since they were chosen. The sums keep the
            # database from using an index for this.
            f" WHERE id {db.chosen(chosen)} AND delivery.lease_id + 0 IS NULL"
            f" AND delivery.state + 0 IN ({WAITING}, {BEHIND})",
            target_id=target.id,
            reason=reason,
            most=most - ended,
        )
    return ended


def end_stranded(db: Connection, now: int, limit: int) -> int:
    """End what earlier versions have left: ordered deliveries of removed hooks that get no turn.

    They end at the time `now`. Return how many keys are free and how many deliveries of hooks
    without a row died. If fewer than `limit`, none is left.
    """
    ended = _free_stranded(db, limit)
    for hook_id in _without_row(db):
        if ended < limit:
            ended += _end(db, hook_id, now, limit - ended)
    return ended


def _free_stranded(db: Connection, limit: int) -> int:
    """Free up to `limit` blocked keys of deleted hooks. Return their number."""
    rows = db.tuples(
        "SELECT k.hook_id, k.key FROM ordering_key k JOIN hook h ON h.id = k.hook_id"
        " WHERE k.blocked_at IS NOT NULL AND h.deleted_at IS NOT NULL LIMIT :limit",
        limit=limit,
    )
    keys = [(hook_id, key) for hook_id, key in rows]
    hook_ids = {hook_id for hook_id, _ in keys}
    orderings = hook_ordering.lock(db, hook_ids)
    for hook_id in hook_ids:
        hook_ordering.end(db, hook_id)
    for hook_id, key in keys:
        stalled_keys.unblock(db, hook_id, key)
    places.pass_on(db, orderings, keys)
    return len(keys)


def _without_row(db: Connection) -> list[int]:
    """Return the ids of hooks that are gone and have open deliveries in an order.

    The query steps through the index from hook to hook.
    """
    return db.column(
        f"{each_value('delivery', 'hook_id', KEYED)}"
        " SELECT w.hook_id FROM w WHERE w.hook_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM hook h WHERE h.id = w.hook_id)"
    )


def _end(db: Connection, hook_id: int, now: int, limit: int) -> int:
    return db.execute(
        f"UPDATE delivery SET state = {DEAD}, due_at = :now, reason = :reason"
        f" WHERE {OPEN} AND lease_id IS NULL AND id IN (SELECT x.id FROM delivery x"
        f" WHERE x.hook_id = :hook_id AND {KEYED} AND x.lease_id IS NULL LIMIT :limit)",
        hook_id=hook_id,
        limit=limit,
        reason=GONE,
        now=now,
    )
