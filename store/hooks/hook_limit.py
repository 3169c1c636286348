"""The limit on hooks that subscribe to one event: each hook means one more delivery at once."""

import json
from collections import Counter
from collections.abc import Collection, Iterable

from store.database.connection import Connection
from store.errors import Invalid
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS, WILDCARD
from store.hooks.hook_targets import HookTarget


def check(
    db: Connection,
    target: HookTarget,
    events: Iterable[str],
    most: int,
    *,
    before: Collection[str] = (),
    but: int = 0,
) -> None:
    """Raise Invalid if a hook for `events` would exceed the target's limit of `most` hooks for one.

    `most` 0 is no limit. `before` has the events that the hook already subscribes to: these are not
    checked. The hook `but` is not counted. Inactive hooks count, so that each of them can be
    activated. A hook for all events counts for each event.
    """
    added = [
        name
        for name in events
        if name not in before and not (WILDCARD in before and name in PLATFORM_EVENTS)
    ]
    if not most or not added:
        return
    hooks = _counted(db, target, but)
    every = hooks.pop(WILDCARD, 0)
    for name in _named(added, hooks):
        if hooks[name] + (0 if name in HUB_EVENTS else every) >= most:
            raise Invalid(
                f'The "{name}" event cannot have more than {most} hooks',
                field="events",
                code="custom",
                resource="Hook",
            )


def _counted(db: Connection, target: HookTarget, but: int) -> Counter[str]:
    """Return for each event name how many hooks list it."""
    counted: Counter[str] = Counter()
    # Many hooks have the same few events.
    for events, many in db.tuples(
        f"SELECT events, count(*) FROM hook WHERE {target.condition} AND deleted_at IS NULL"
        " AND id <> :but GROUP BY events",
        target_id=target.id,
        but=but,
    ):
        for name in set(json.loads(events)):
            counted[name] += many
    return counted


def _named(added: Collection[str], known: Collection[str]) -> list[str]:
    """Return the events whose number of hooks grows by one."""
    if WILDCARD not in added:
        return list(added)
    return [
        *added,
        *sorted(name for name in known if name in PLATFORM_EVENTS and name not in added),
    ]
