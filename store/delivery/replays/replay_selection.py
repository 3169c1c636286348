"""The selection of a replay: which events are delivered once more, and to which hooks.

Events are read in windows of limited size, so that no statement examines more than one window.
"""

from dataclasses import dataclass
from typing import Any

from store.apps.event_installations import ABOUT_APPS
from store.clock import MINUTE
from store.database import paging
from store.database.connection import Connection, json_array
from store.database.id_search import first_id_since
from store.delivery.fan_out import WIDER
from store.delivery.incoming import EXAMPLE_SOURCE, LOCAL_SOURCE
from store.hooks.event_names import FITTING, PLATFORM_EVENTS, WILDCARD
from store.ordering.delivery_states import BEHIND, DELIVERED, FILTERED, WAITING

FOR_ONE_HOOK = (
    f"(e.name = 'ping' OR e.source_id = {EXAMPLE_SOURCE}"
    f" OR e.name = 'meta' AND e.source_id = {LOCAL_SOURCE})"
)
"""SQL for: the event `e` was for one hook alone, whichever hooks subscribe to its name.

The hub's own `meta` is for the hook that was deleted, and shows how it was configured.
"""

UNASKED = (
    " JOIN delivery s ON s.event_id = e.id AND s.redelivery = 0"
    " JOIN hook h ON h.id = s.hook_id AND h.app_id IS NOT NULL AND h.active = 1"
)
"""SQL that joins an event `e` about an app with the app's hook, which has no subscription to it."""

# The largest window for a count.
COUNTED = 5_000
# Ids do not follow `received_at` exactly, because concurrent transactions commit in any order. The
# two may differ by this much.
SLACK = MINUTE


@dataclass(frozen=True, slots=True)
class ReplaySelection:
    """The events to replay, to each hook that subscribes to them now.

    `event` is a name, or a name with an action: `issues.opened`. `hook_ids` limits the events to
    these hooks. `failed` leaves out events that were delivered to the hook, that its filter left
    out, or that still wait. Times are microseconds.
    """

    since: int | None = None
    until: int | None = None
    repo_id: int | None = None
    hook_id: int | None = None
    event: str | None = None
    failed: bool = False
    hook_ids: tuple[int, ...] | None = None

    def place(self, db: Connection) -> tuple[str, dict[str, Any]]:
        """Return the SQL conditions on `e` that an index supports, and their parameters.

        Each condition ends with AND.
        """
        repo_id = self.repo_id
        if repo_id is None and self.hook_id is not None:
            # The column is null for a hook that belongs to no repository. 0 stands for a hook that
            # is gone.
            found = db.tuples("SELECT repo_id FROM hook WHERE id = :id", id=self.hook_id)
            repo_id = found[0][0] if found else 0
        if repo_id is None:
            return "", {}
        where, given = "e.repo_id = :repo_id AND ", {"repo_id": repo_id}
        name, _ = self._name_and_action()
        if name is not None:
            return f"{where}e.name = :event AND ", {**given, "event": name}
        return where, given

    def _name_and_action(self) -> tuple[str | None, str | None]:
        if self.event is None:
            return None, None
        name, _, action = self.event.partition(".")
        return name, action or None

    def events(self, db: Connection) -> tuple[str, dict[str, Any]]:
        """Return all SQL conditions on the events, as `place` does, and their parameters."""
        where, given = self.place(db)
        event, action = self._name_and_action()
        more, values = paging.conditions(
            {
                "e.received_at >= :since": self.since,
                "e.received_at < :before": self.until,
                "e.name = :event": event,
                # No index has the action, so `place` leaves it out: a window stays a bounded read.
                "e.action = :action": action,
            }
        )
        where += f"e.body IS NOT NULL AND NOT {FOR_ONE_HOOK} AND {more} AND "
        return where, given | values


def first_event_since(db: Connection, at: int) -> int:
    """Return the lowest id of the events received at a time or later.

    If there is no such event, return an id above all others.
    """
    return first_id_since(db, "event", "e.received_at", at)


def id_range(db: Connection, chosen: ReplaySelection) -> tuple[int, int]:
    """Return the ids between which the selected events are: first exclusive, last inclusive."""
    newest = db.optional_number("SELECT max(id) FROM event") or 0
    after, until = 0, newest
    if chosen.since is not None:
        after = first_event_since(db, chosen.since - SLACK) - 1
    if chosen.until is not None:
        until = min(newest, first_event_since(db, chosen.until + SLACK))
    return after, until


def window(
    db: Connection, chosen: ReplaySelection, after: int, until: int, looked: int
) -> tuple[int, int]:
    """Return the last event's id in the next window, and the number of events in it."""
    where, given = chosen.place(db)
    found = db.tuples(
        f"SELECT max(f.id), count(*) FROM (SELECT e.id FROM event e WHERE {where}e.id > :after"
        " AND e.id <= :until ORDER BY e.id LIMIT :looked) AS f",
        after=after,
        until=until,
        looked=looked,
        **given,
    )
    last, many = found[0]
    return last or 0, many


def pairs_of(
    db: Connection, chosen: ReplaySelection, after: int, last: int
) -> tuple[str, dict[str, Any]]:
    """Return SQL for the pairs of each event of a window and each hook that subscribes to it now.

    A pair is a row `p` with `event_id`, `repo_id` and `hook_id`.
    """
    where, given = chosen.events(db)
    # WebSub gets no replays: its content is the current state of a topic.
    where = f" WHERE {where}s.hook_id > 0 AND e.id > :after AND e.id <= :last"
    given |= {"after": after, "last": last}
    if chosen.hook_id is not None:
        where += " AND s.hook_id = :hook_id"
        given["hook_id"] = chosen.hook_id
    if chosen.hook_ids is not None:
        where += f" AND s.hook_id {db.among('hooks')}"
        given["hooks"] = json_array(chosen.hook_ids)
    if chosen.failed:
        where += (
            " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id"
            " AND d.hook_id = s.hook_id"
            f" AND d.state IN ({WAITING}, {DELIVERED}, {FILTERED}, {BEHIND}))"
        )
    given |= {
        "names": json_array(PLATFORM_EVENTS),
        "fitting": json_array(FITTING["repository"]),
    }
    select = "SELECT e.id AS event_id, e.repo_id, s.hook_id FROM event e"
    return (
        f" FROM ({select} JOIN subscription s ON s.repo_id = e.repo_id"
        f"{_named(db, 'fitting')}{where} UNION ALL"
        f" {select}{WIDER}{_named(db, 'names')}{where} UNION ALL"
        f" {select}{UNASKED}{where} AND e.repo_id = 0 AND e.name IN ({ABOUT_APPS})) AS p"
    ), given


def _named(db: Connection, names: str) -> str:
    """Return the SQL condition that a subscription is to an event's name, or to `*`."""
    listed = f"(SELECT name FROM {db.each(names, name='text')} AS n)"
    return (
        f" AND s.event IN (e.name, CASE WHEN e.name IN {listed} THEN '{WILDCARD}' ELSE e.name END)"
    )


def count(
    db: Connection, chosen: ReplaySelection, after: int, until: int, looked: int = COUNTED
) -> tuple[int, int]:
    """Count the deliveries for the next `looked` events after `after`, up to `until`.

    Also return the id after which to continue (0: that was all).
    """
    last, many = window(db, chosen, after, until, looked)
    if not many:
        return 0, 0
    pairs, given = pairs_of(db, chosen, after, last)
    found = db.number(f"SELECT count(*){pairs}", **given)
    return found, last if many == looked else 0


def total(db: Connection, chosen: ReplaySelection, after: int = 0) -> tuple[int, int]:
    """Return the number of deliveries for the whole selection, and the id of its last event.

    Events up to the id `after` are left out.
    """
    first, until = id_range(db, chosen)
    after, many = max(first, after), 0
    while True:
        found, after = count(db, chosen, after, until)
        many += found
        if not after:
            return many, until
