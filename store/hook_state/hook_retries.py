"""Retries before their time: a person has a hook's waiting deliveries tried at once."""

from store.database.connection import Connection, Row
from store.errors import Conflict
from store.hooks import hooks, pull_urls

# Other writers wait for the transaction that makes so many deliveries due.
MOST = 5_000
WAITING = "d.hook_id = :hook_id AND d.state = 0 AND d.lease_id IS NULL"


def retry_now(db: Connection, hook: Row) -> int:
    """Make the waiting deliveries of a hook due, up to MOST of them, the next ones first.

    This also ends its rests: of an open circuit breaker, and the time for which the receiver asked
    for nothing. Return the number of deliveries that wait and are due now, up to MOST. Raises
    Conflict if the hook is paused, inactive or a pull hook, and Missing if it was deleted
    meanwhile.
    """
    hook = hooks.lock(db, hook)
    if not hook["active"] or hook["paused_at"] is not None:
        state = "paused: resume it" if hook["active"] else "inactive: switch it on"
        raise Conflict(f"the hook is {state}, and its deliveries are sent")
    if pull_urls.is_pull(hook["url"]):
        raise Conflict("it is a pull hook: its receiver fetches the deliveries")
    db.execute(
        "UPDATE hook SET resting_until = NULL, held_until = NULL, version = version + 1,"
        " updated_at = :now WHERE id = :id",
        id=hook["id"],
    )
    chosen = f"SELECT d.id FROM delivery d WHERE {WAITING} ORDER BY d.due_at LIMIT :most"
    db.execute(
        f"UPDATE delivery SET due_at = :now WHERE id {db.chosen(chosen)} AND due_at > :now"
        " AND state = 0 AND lease_id IS NULL",
        hook_id=hook["id"],
        most=MOST,
    )
    hooks.notify_changed(db, hook["id"])
    return db.number(
        f"SELECT count(*) FROM (SELECT d.id FROM delivery d WHERE {WAITING}"
        " AND d.due_at <= :now LIMIT :most) AS f",
        hook_id=hook["id"],
        most=MOST,
    )
