"""Records of deliveries: pages of them with their events, hooks and last attempts, and counts."""

from collections.abc import Sequence
from typing import Any

from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.hooks.hook_targets import OF_HOOK
from store.ordering.delivery_states import BEHIND, DEAD, DELIVERED, FILTERED, WAITING

STATES = {
    WAITING: "waiting",
    DELIVERED: "delivered",
    DEAD: "dead",
    FILTERED: "filtered",
    BEHIND: "waiting",
}
STATE_NAMES = tuple(dict.fromkeys(STATES.values()))


def page(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    state: str | None = None,
    hook_id: int | None = None,
    repo_id: int | None = None,
    event: str | None = None,
    since: int | None = None,
    until: int | None = None,
    hook_ids: Sequence[int] | None = None,
) -> list[Row]:
    """Return deliveries, newest first, each with its event, its hook, and its last attempt."""
    where, given = paging.conditions(
        {
            "d.id < :before": before,
            f"d.state IN ({_numbers(state)})": state is not None,
            "d.hook_id = :hook_id": hook_id,
            "d.repo_id = :repo_id": repo_id,
            "e.name = :event": event,
            "e.received_at >= :since": since,
            "e.received_at < :until": until,
            f"d.hook_id {db.among('hooks')}": None if hook_ids is None else json_array(hook_ids),
        }
    )
    return select(db, where, given, limit)


def _numbers(name: str | None) -> str:
    return ", ".join(str(number) for number, other in STATES.items() if other == name)


def select(db: Connection, where: str, given: dict[str, Any], limit: int) -> list[Row]:
    """Return the deliveries that fulfil an SQL condition, as `page` returns them."""
    # The last attempts are joined to the rows of the page. If PostgreSQL knew nothing about the
    # tables yet, a join to all deliveries could look for them once for each pair of rows.
    rows = db.all(
        "SELECT f.*, a.id AS attempt_id, a.status_code, a.error, a.started_at, a.duration"
        " FROM (SELECT d.id, d.event_id, d.hook_id, d.repo_id, d.state, d.attempts, d.redelivery,"
        " d.due_at, d.lease_id, d.reason, e.guid, e.org_id, e.name AS event, e.action,"
        " e.received_at, COALESCE(h.url, w.callback) AS url, h.resting_until,"
        " COALESCE(h.held_until, w.held_until) AS held_until, h.paused_at, h.active AS hook_active,"
        f" {OF_HOOK}, (SELECT max(x.id) FROM attempt x WHERE x.delivery_id = d.id) AS last_attempt"
        " FROM delivery d JOIN event e ON e.id = d.event_id LEFT JOIN hook h ON h.id = d.hook_id"
        " LEFT JOIN websub w ON w.id = -d.hook_id"
        f" WHERE {where} ORDER BY d.id DESC LIMIT :limit) f"
        " LEFT JOIN attempt a ON a.id = f.last_attempt ORDER BY f.id DESC",
        limit=limit,
        **given,
    )
    for row in rows:
        del row["last_attempt"]
        row["state"] = STATES[row["state"]]
    return rows


def count_by_state(db: Connection) -> dict[str, int]:
    """Return the number of waiting, delivered and dead deliveries."""
    found = db.mapping("SELECT state, count(*) FROM delivery GROUP BY state")
    counts = dict.fromkeys(STATES.values(), 0)
    for number, many in found.items():
        counts[STATES[number]] += many
    return counts
