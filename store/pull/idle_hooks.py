"""Pull hooks that are removed when nobody fetches their deliveries any more."""

import json
from collections.abc import Iterable
from contextlib import suppress

from store.clock import DAY, SECOND
from store.database.connection import Connection, json_array
from store.delivery import hook_removal
from store.errors import Missing
from store.hooks import hooks

# For so long after a worker's start, hooks are idle since then at most. A worker that starts again
# each week still removes hooks that expire after a month.
GRACE = DAY


def next_expiry(db: Connection, began: int) -> int | None:
    """Return when the next pull hook has been idle for too long, or None.

    `began` is as in `remove`.
    """
    return min((at for _, at in _expiries(db, began)), default=None)


def _expiries(db: Connection, began: int) -> list[tuple[int, int]]:
    """Return the pull hooks that expire when they are idle, and when that is.

    A hook is idle since its last change, or since somebody last fetched deliveries. For GRACE after
    `began`, it is idle since then.
    """
    rows = db.tuples("SELECT id, options, updated_at FROM hook WHERE pull = 1")
    expiring = {
        hook_id: (updated_at, round(seconds * SECOND))
        for hook_id, options, updated_at in rows
        if (seconds := json.loads(options).get("expire_idle")) is not None
    }
    seen = _last_seen(db, expiring) if expiring else {}
    return [
        (
            hook_id,
            max(max(updated_at, seen.get(hook_id, 0)) + patience, began + min(patience, GRACE)),
        )
        for hook_id, (updated_at, patience) in expiring.items()
    ]


def _last_seen(db: Connection, hook_ids: Iterable[int]) -> dict[int, int]:
    return db.mapping(
        "SELECT c.hook_id, max(c.seen_at) FROM pull_consumer c WHERE c.hook_id"
        f" {db.among('hooks')} GROUP BY c.hook_id",
        hooks=json_array(hook_ids),
    )


def remove(db: Connection, began: int) -> list[int]:
    """Delete the pull hooks that have been idle for too long. Return their ids.

    `began` is when the worker began, in microseconds. Before, perhaps nobody could fetch.
    """
    ended = []
    for hook_id in [hook_id for hook_id, at in _expiries(db, began) if at <= db.now]:
        hook = hooks.by_id(db, hook_id)
        # Another hub may be deleting some of them.
        with suppress(Missing):
            if hook is not None:
                hook_removal.delete(db, hook)
                ended.append(hook_id)
    return ended
