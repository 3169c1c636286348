"""The ordering of hooks: which deliveries of a hook must not overtake each other.

A hook that is or was ordered has a row in `hook_ordering`, and every other hook has none. The row
has the hook's last sequence number. Its lock serializes the transactions that change the order.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection, Row, json_array

NONE, BY_HOOK, BY_REPOSITORY = "none", "hook", "repository"
BLOCK = "block"

STOPPED = "SELECT o.hook_id FROM hook_ordering o WHERE o.stopped = 1"
"""The ids of ordered hooks that are inactive: their deliveries wait, so that none is missing."""


ORDERED = "(SELECT o.hook_id FROM hook_ordering o WHERE o.active = 1)"
"""The ids of hooks whose new deliveries are ordered, as SQL. An index has only these."""


def orders(hook_id: str) -> str:
    """Return SQL for whether a hook is one of ORDERED. `hook_id` is SQL for its id.

    The cost does not grow with ORDERED, and if that is empty, the database looks up no hook.
    """
    # PostgreSQL might read all of ORDERED to answer EXISTS, and does not for a scalar subquery.
    return (
        f"(EXISTS {ORDERED} AND"
        f" COALESCE((SELECT o.active FROM hook_ordering o WHERE o.hook_id = {hook_id}), 0) = 1)"
    )


def name_of(ordering: Any) -> str:
    """Return an ordering as it is stored: `none`, `hook`, `repository`, or a JSON Pointer.

    `ordering` is the delivery option of this name.
    """
    if isinstance(ordering, dict):
        return str(ordering["path"])
    return ordering or NONE


def is_ordered(options: dict[str, Any]) -> bool:
    return name_of(options.get("ordering")) != NONE


def is_stopped(hook: Row) -> bool:
    """Return whether a hook is inactive and keeps its deliveries, because they are ordered."""
    inactive = not hook["active"] and hook["deleted_at"] is None
    return inactive and is_ordered(hook["options"])


def lock(db: Connection, hook_ids: Iterable[int]) -> dict[int, Row]:
    """Lock the order of these hooks until the transaction ends. Return their rows by hook.

    Hooks that were never ordered are left out. Every transaction locks the order first and in this
    sequence, so that no two deadlock.
    """
    rows = db.all(
        "SELECT hook_id, ordering, blocks, active, stopped, sequence, barriers FROM hook_ordering"
        f" WHERE hook_id {db.among('hooks')}"
        f" ORDER BY hook_id{db.for_update}",
        hooks=json_array(hook_ids),
    )
    for row in rows:
        row["barriers"] = json.loads(row["barriers"])
    return {row["hook_id"]: row for row in rows}


def apps(db: Connection, orderings: Mapping[int, Row]) -> dict[int, int]:
    """Return the apps of these hooks, by hook, where the key is the installation in the payload.

    The stored payload lacks it. Other keys are in the stored payload, so their apps are left out.
    """
    found = [id_ for id_, row in orderings.items() if row["ordering"].startswith("/installation")]
    if not found:
        return {}
    return db.mapping(
        f"SELECT id, app_id FROM hook WHERE app_id IS NOT NULL AND id {db.among('hooks')}",
        hooks=json_array(found),
    )


def configure(db: Connection, hook: Row) -> None:
    """Apply a hook's options after it was created or changed.

    If the ordering changes, deliveries from now on wait until all earlier ones have ended.
    """
    options = hook["options"]
    ordering = name_of(options.get("ordering"))
    before = lock(db, [hook["id"]]).get(hook["id"])
    if before is None and ordering == NONE:
        return
    barriers: list[int] = [] if before is None else before["barriers"]
    if before is not None and before["active"] and before["ordering"] != ordering:
        barriers = [*barriers, before["sequence"]]
    active = ordering != NONE or bool(barriers)
    values = {
        "hook_id": hook["id"],
        "ordering": ordering,
        "blocks": int(options.get("on_exhausted") == BLOCK),
        "active": int(active),
        "stopped": int(active and not hook["active"]),
        "barriers": json.dumps(barriers),
    }
    upsert.insert_or_replace(db, "hook_ordering", values, "hook_id")


def stop(db: Connection, hook_id: int) -> None:
    """Have the deliveries of a hook wait if it is ordered."""
    db.execute(
        "UPDATE hook_ordering SET stopped = 1 WHERE hook_id = :id AND active = 1", id=hook_id
    )


def end(db: Connection, hook_id: int) -> None:
    """Have the deliveries of a hook that is being deleted wait no more, and let none block a key.

    They keep their turns.
    """
    db.execute("UPDATE hook_ordering SET stopped = 0, blocks = 0 WHERE hook_id = :id", id=hook_id)
