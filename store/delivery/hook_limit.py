"""How many hooks of a repository one event may have: so many deliveries follow from it at once."""

import json
from collections import Counter
from collections.abc import Collection, Iterable

from store.database.connection import Connection
from store.delivery.event_names import HUB_EVENTS, PLATFORM_EVENTS, WILDCARD
from store.errors import Invalid


def check(
    db: Connection,
    repo_id: int,
    events: Iterable[str],
    most: int,
    *,
    before: Collection[str] = (),
    but: int = 0,
) -> None:
    """Invalid where a hook for these events would be one too many for one of them; `most` 0 is no
    limit. What it was for `before` is no more of it. The hook `but` is not counted.

    Inactive hooks count, so that each can be activated. One for all events counts for each.
    """
    added = [
        name
        for name in events
        if name not in before and not (WILDCARD in before and name in PLATFORM_EVENTS)
    ]
    if not most or not added:
        return
    hooks = _counted(db, repo_id, but)
    every = hooks.pop(WILDCARD, 0)
    for name in _named(added, hooks):
        if hooks[name] + (0 if name in HUB_EVENTS else every) >= most:
            raise Invalid(
                f'The "{name}" event cannot have more than {most} hooks',
                field="events",
                code="custom",
                resource="Hook",
            )


def _counted(db: Connection, repo_id: int, but: int) -> Counter[str]:
    """By event, how many hooks subscribe to it by its name."""
    counted: Counter[str] = Counter()
    # Many hooks have the same few events.
    for events, many in db.tuples(
        "SELECT events, count(*) FROM hook WHERE repo_id = :repo_id AND deleted_at IS NULL"
        " AND id <> :but GROUP BY events",
        repo_id=repo_id,
        but=but,
    ):
        for name in set(json.loads(events)):
            counted[name] += many
    return counted


def _named(added: Collection[str], known: Collection[str]) -> list[str]:
    """The events that get one hook more."""
    if WILDCARD not in added:
        return list(added)
    return [
        *added,
        *sorted(name for name in known if name in PLATFORM_EVENTS and name not in added),
    ]
