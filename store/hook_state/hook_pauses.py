"""Pauses of hooks: while a hook is paused, its deliveries wait.

A paused hook still gets a delivery for each event. Nothing is sent, and nothing is lost. In
contrast, an inactive hook gets no deliveries.
"""

from store.database.connection import Connection, Row
from store.errors import Missing
from store.hooks import hooks
from store.hooks.hook_ordering import STOPPED

PAUSED = f"(SELECT p.id FROM hook p WHERE p.paused_at IS NOT NULL UNION ALL {STOPPED})"
"""The ids of hooks whose deliveries wait until a person acts, as SQL. Indexes have only these."""

WITHHELD = f"({PAUSED[1:-1]} UNION ALL SELECT q.id FROM hook q WHERE q.pull = 1)"
"""The ids of hooks to which no worker sends, as SQL: paused ones, and pull hooks."""


def withholds(hook_id: str) -> str:
    """Return SQL for whether a hook is one of WITHHELD. `hook_id` is SQL for its id.

    The cost does not grow with WITHHELD, and if that is empty, the database looks up no hook.
    """
    one = (
        "SELECT CASE WHEN p.paused_at IS NULL THEN p.pull ELSE 1 END"
        f" FROM hook p WHERE p.id = {hook_id}"
    )
    stopped = f"SELECT o.stopped FROM hook_ordering o WHERE o.hook_id = {hook_id}"
    # These are scalar subqueries, as in `hook_ordering.orders`.
    return (
        "((EXISTS (SELECT p.id FROM hook p WHERE p.paused_at IS NOT NULL)"
        f" OR EXISTS (SELECT q.id FROM hook q WHERE q.pull = 1)) AND COALESCE(({one}), 0) = 1"
        f" OR EXISTS ({STOPPED}) AND COALESCE(({stopped}), 0) = 1)"
    )


def pause(db: Connection, hook: Row) -> Row:
    """Pause a hook. A hook that is paused already stays paused since the first time.

    Raises Missing if the hook was deleted meanwhile.
    """
    return _update(db, hook, "paused_at = COALESCE(paused_at, :now)")


def resume(db: Connection, hook: Row) -> Row:
    """End the pause of a hook: its deliveries are due at once. Without a pause, do nothing.

    The time of the pause does not count as time in which the hook was failing. Raises Missing if
    the hook was deleted meanwhile.
    """
    if hook["paused_at"] is None:
        return hook
    return _update(
        db,
        hook,
        "paused_at = NULL, pause_reason = NULL,"
        " handshake = CASE WHEN handshake = 'failed' THEN 'pending' ELSE handshake END,"
        " failing_since = failing_since + :now"
        " - CASE WHEN paused_at > failing_since THEN paused_at ELSE failing_since END",
    )


def discount_outage(db: Connection, since: int) -> None:
    """Do not count the time since `since`, when no worker ran, as time in which hooks failed.

    Otherwise the first failure after it could disable a hook, and end its deliveries. Pauses have
    their own discount.
    """
    db.execute(
        "UPDATE hook SET failing_since = failing_since + :length WHERE failing_since <= :since"
        " AND paused_at IS NULL AND deleted_at IS NULL",
        since=since,
        length=db.now - since,
    )


def pause_unusable(db: Connection, hook_id: int, version: int, reason: str) -> None:
    """Pause a hook that cannot be used as it is configured, for a reason that its owner can read.

    If the hook was changed since `version` or is paused already, do nothing.
    """
    db.execute(
        "UPDATE hook SET paused_at = :now, pause_reason = :reason, version = version + 1,"
        " updated_at = :now WHERE id = :id AND version = :version AND paused_at IS NULL"
        " AND deleted_at IS NULL",
        id=hook_id,
        version=version,
        reason=reason,
    )
    hooks.notify_changed(db, hook_id)


def _update(db: Connection, hook: Row, changes: str) -> Row:
    row = db.one(
        f"UPDATE hook SET {changes}, version = version + 1, updated_at = :now"
        f" WHERE id = :id AND deleted_at IS NULL RETURNING {hooks.COLUMNS}",
        id=hook["id"],
    )
    if row is None:
        raise Missing(f"there is no hook {hook['id']}")
    hooks.notify_changed(db, hook["id"])
    return hooks.decode_row(row)
