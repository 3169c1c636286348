"""A page of the list of events: by repository, by name, by hook, or only those without a delivery.

A page examines at most LOOKED events, or LOOKED_OF_HOOKS if it has to examine their deliveries. If
these do not fill a page, the result has the id from which to continue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from store.database.connection import LAST_ID, Connection, Row, json_array
from store.database.list_order import Matches, SortedPage, SortOrder, matches_of
from store.delivery import event_queries
from store.hooks.event_names import EventPattern

LOOKED, LOOKED_OF_HOOKS = 5_000, 1_000
# A page examines the REPOSITORIES with the newest events only.
REPOSITORIES = 100
COLUMNS = {
    "received": ("e.id",),
    "event": ("e.name", "COALESCE(e.action, '')"),
    "size": ("e.size",),
}


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for events.

    It limits ids from `first` and below `before`, one name or a pattern of names, and repositories
    (None: every event, also those without a repository). `hook_ids` selects events with a delivery
    to one of these hooks, and `unwanted` events without a delivery. `hidden_owners` leaves out
    events of these owners and their repositories. If there are any, it also leaves out the events
    of deleted repositories, because their owners are unknown. `org_ids` limits the deliveries that
    count, as in `event_queries.visible`. `ids` selects from these events alone.
    """

    before: int | None = None
    name: str | None = None
    repo_ids: list[int] | None = None
    unwanted: bool = False
    pattern: EventPattern | None = None
    first: int = 0
    hook_ids: Sequence[int] | None = None
    hidden_owners: Sequence[int] = ()
    org_ids: Sequence[int] | None = None
    ids: Sequence[int] | None = None

    @property
    def narrowed(self) -> bool:
        """Return whether the filter has a condition for which events are examined one by one."""
        found = (self.name, self.pattern, self.hook_ids, self.ids)
        others = self.unwanted or bool(self.hidden_owners)
        return others or any(one is not None for one in found)

    @property
    def looked(self) -> int:
        """Return how many events a page examines at most."""
        return LOOKED if self.hook_ids is None else LOOKED_OF_HOOKS


def page(db: Connection, wanted: EventFilter, limit: int) -> tuple[list[Row], int | None]:
    """Return a page of events, newest first, and the id before which to continue (None at the end).

    Each event is as `event_queries.get` returns it.
    """
    ids, floor = _found(db, wanted, wanted.looked if wanted.narrowed else limit + 1)
    return _shown(db, wanted, ids, floor, limit)


def _shown(
    db: Connection, wanted: EventFilter, ids: list[int], floor: int, limit: int
) -> tuple[list[Row], int | None]:
    chosen = ids[:limit]
    older = chosen[-1] if len(ids) > limit else floor
    return event_queries.shown(db, chosen, org_ids=wanted.org_ids), older or None


def first_page(
    db: Connection, wanted: EventFilter, limit: int
) -> tuple[list[Row], int | None, Matches]:
    """Return the results of `page` and `count`. Both share one search if they can."""
    if wanted.narrowed or wanted.repo_ids is not None:
        ids, floor = _found(db, wanted, wanted.looked)
        return *_shown(db, wanted, ids, floor, limit), _matches(wanted, ids, floor)
    return *page(db, wanted, limit), count(db, wanted)


def sorted_page(
    db: Connection, wanted: EventFilter, order: SortOrder, *, limit: int, skip: int = 0
) -> SortedPage:
    """Return a page of the newest matching events in this order, `skip` of them left out."""
    ids, floor = _found(db, wanted, wanted.looked)
    sql = order.sql(COLUMNS, "e.id DESC")
    rows = event_queries.shown(db, ids, sql, limit, skip, wanted.org_ids)
    return SortedPage(rows, len(ids) > skip + limit, len(ids) if floor else 0)


def count(db: Connection, wanted: EventFilter) -> Matches:
    """Return the number of matching events, up to MOST.

    If events have to be examined one by one, only the newest ones are.
    """
    if wanted.narrowed or wanted.repo_ids is not None:
        ids, floor = _found(db, wanted, wanted.looked)
        return _matches(wanted, ids, floor)
    query = "SELECT e.id FROM event e WHERE e.id < :before AND e.id >= :first"
    given = {"before": wanted.before or LAST_ID, "first": wanted.first}
    return matches_of(db, query, **given)


def _matches(wanted: EventFilter, ids: list[int], floor: int) -> Matches:
    return Matches(len(ids), examined=wanted.looked if floor else 0)


def latest(db: Connection) -> int:
    """Return the id of the newest event, or 0."""
    return db.optional_number("SELECT max(id) FROM event") or 0


def _found(db: Connection, wanted: EventFilter, looked: int) -> tuple[list[int], int]:
    """Return matching ids, newest first, and the id down to which they are complete (0: all)."""
    if wanted.hook_ids is not None:
        wanted = _in_repositories(db, wanted, wanted.hook_ids)
    if wanted.ids is not None:
        ids, floor = _of_ids(db, wanted, wanted.ids), 0
    elif wanted.repo_ids is None:
        ids, floor = _of_all(db, wanted, looked)
    else:
        ids, floor = _of_repositories(db, wanted)
    ids = [event_id for event_id in ids if event_id >= wanted.first]
    if wanted.hidden_owners:
        ids = _of_others(db, ids, wanted.hidden_owners)
    if wanted.unwanted:
        ids = _unwanted(db, ids, wanted.org_ids)
    if wanted.hook_ids is not None:
        ids = _to_hooks(db, ids, wanted.hook_ids)
    return ids, 0 if floor <= wanted.first else floor


def _in_repositories(db: Connection, wanted: EventFilter, hook_ids: Sequence[int]) -> EventFilter:
    """Limit the filter to the repositories of these hooks, unless a hook belongs to none."""
    repos = set(
        db.column(
            f"SELECT DISTINCT h.repo_id FROM hook h WHERE h.id {db.among('hooks')}",
            hooks=json_array(hook_ids),
        )
    )
    if None in repos:
        return wanted
    if wanted.repo_ids is not None:
        repos &= set(wanted.repo_ids)
    return replace(wanted, repo_ids=sorted(repos))


def _of_others(db: Connection, ids: list[int], owner_ids: Sequence[int]) -> list[int]:
    return db.column(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w JOIN event e ON e.id = w.id"
        " LEFT JOIN repository r ON r.id = e.repo_id"
        " WHERE (e.repo_id = 0 OR r.id IS NOT NULL) AND COALESCE(r.owner_id, e.org_id) NOT"
        f" {db.among('hidden')} ORDER BY w.id DESC",
        ids=json_array(ids),
        hidden=json_array(owner_ids),
    )


def _to_hooks(db: Connection, ids: list[int], hook_ids: Sequence[int]) -> list[int]:
    return db.column(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w WHERE EXISTS"
        " (SELECT 1 FROM delivery d WHERE d.event_id = w.id AND d.hook_id"
        f" {db.among('hooks')}) ORDER BY w.id DESC",
        ids=json_array(ids),
        hooks=json_array(hook_ids),
    )


def _of_all(db: Connection, wanted: EventFilter, looked: int) -> tuple[list[int], int]:
    rows = db.tuples(
        "SELECT e.id, e.name, e.action FROM event e WHERE e.id < :before"
        " ORDER BY e.id DESC LIMIT :looked",
        before=wanted.before or LAST_ID,
        looked=looked,
    )
    ids = [event_id for event_id, name, action in rows if _is_named(wanted, name, action)]
    return ids, rows[-1][0] if len(rows) == looked else 0


def _of_ids(db: Connection, wanted: EventFilter, ids: Sequence[int]) -> list[int]:
    rows = db.tuples(
        "SELECT e.id, e.name, e.action, e.repo_id FROM event e"
        f" WHERE e.id < :before AND e.id {db.among('ids')} ORDER BY e.id DESC",
        before=wanted.before or LAST_ID,
        ids=json_array(ids),
    )
    repos = None if wanted.repo_ids is None else {*wanted.repo_ids}
    return [
        event_id
        for event_id, name, action, repo_id in rows
        if (repos is None or repo_id in repos) and _is_named(wanted, name, action)
    ]


def _is_named(wanted: EventFilter, name: str, action: str | None) -> bool:
    pattern = wanted.pattern
    return wanted.name in (None, name) and (pattern is None or pattern.matches(name, action))


def _of_repositories(db: Connection, wanted: EventFilter) -> tuple[list[int], int]:
    """Return candidates from the repositories whose own newest event is among the latest."""
    of = "x.repo_id = w.repo_id AND x.id < :before"
    given: dict[str, Any] = {"before": wanted.before or LAST_ID}
    if wanted.name is not None:
        of += " AND x.name = :name"
        given |= {"name": wanted.name}
    tops = db.tuples(
        f"SELECT f.repo_id, f.newest FROM (SELECT w.repo_id, (SELECT max(x.id) FROM event x"
        f" WHERE {of}) AS newest FROM {db.each('repos', repo_id='integer')} AS w) AS f"
        " WHERE f.newest IS NOT NULL ORDER BY f.newest DESC LIMIT :many",
        repos=json_array(wanted.repo_ids or []),
        many=REPOSITORIES + 1,
        **given,
    )
    if not tops:
        return [], 0
    looked = [repo_id for repo_id, _ in tops[:REPOSITORIES]]
    each = wanted.looked // len(looked)
    last = f"SELECT x.id FROM event x WHERE {of} ORDER BY x.id DESC LIMIT :each"
    rows = db.tuples(
        f"SELECT w.repo_id, e.id FROM {db.each('repos', repo_id='integer')} AS w"
        f" {db.lateral('event', 'e', last)} ORDER BY e.id DESC",
        repos=json_array(looked),
        each=each,
        **given,
    )
    ids, floor = _above(rows, each, tops[REPOSITORIES][1] + 1 if len(tops) > REPOSITORIES else 0)
    return (ids if wanted.pattern is None else _matching(db, ids, wanted.pattern)), floor


def _matching(db: Connection, ids: list[int], pattern: EventPattern) -> list[int]:
    where, given = pattern.condition("e")
    return db.column(
        f"SELECT e.id FROM {db.each('ids', id='integer')} AS w JOIN event e ON e.id = w.id"
        f" WHERE {where} ORDER BY e.id DESC",
        ids=json_array(ids),
        **given,
    )


def _above(rows: Sequence[tuple[Any, ...]], each: int, floor: int) -> tuple[list[int], int]:
    """Drop the ids below which ids may be missing, because a repository has more than were read."""
    found: dict[int, list[int]] = {}
    for repo_id, event_id in rows:
        found.setdefault(repo_id, []).append(event_id)
    for ids in found.values():
        if len(ids) == each:
            floor = max(floor, ids[-1])
    return [event_id for _, event_id in rows if event_id >= floor], floor


def _unwanted(db: Connection, ids: list[int], org_ids: Sequence[int] | None) -> list[int]:
    counted, given = event_queries.visible(db, org_ids)
    return db.column(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w WHERE NOT EXISTS"
        f" (SELECT 1 {event_queries.TO_HOOKS} WHERE d.event_id = w.id AND d.redelivery = 0"
        f" AND {counted}) ORDER BY w.id DESC",
        ids=json_array(ids),
        **given,
    )
