"""Events for people to browse: newest first, by repository, or only those without a delivery.

A page examines at most LOOKED events. If these do not fill a page, the result has the id from which
to continue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection, Row, json_array
from store.delivery import deliveries
from store.delivery.events import COLUMNS, EXAMPLE_SOURCE
from store.hooks.event_names import EventPattern

LOOKED = 5_000
# A page examines the REPOSITORIES with the newest events only. An event's deliveries are counted up
# to COUNTED.
REPOSITORIES, COUNTED = 100, 1_000
NEWEST = 2**62


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for events.

    It limits ids from `first` and below `before`, one name or a pattern of names, repositories
    (None: every event, also those without a repository), and optionally to events without a
    delivery (`unwanted`).
    """

    before: int | None = None
    name: str | None = None
    repo_ids: list[int] | None = None
    unwanted: bool = False
    pattern: EventPattern | None = None
    first: int = 0


def page(db: Connection, wanted: EventFilter, limit: int) -> tuple[list[Row], int | None]:
    """Return a page of events, newest first, and the id before which to continue (None at the end).

    Each event has its `repository` and its number of `deliveries`, counted up to COUNTED.
    """
    ids, floor = _candidates(db, wanted, limit)
    if floor <= wanted.first:
        floor = 0
    ids = [event_id for event_id in ids if event_id >= wanted.first]
    if wanted.unwanted:
        ids = _unwanted(db, ids)
    shown = ids[:limit]
    older = shown[-1] if len(ids) > limit else floor
    return _rows(db, shown), older or None


def _candidates(db: Connection, wanted: EventFilter, limit: int) -> tuple[list[int], int]:
    """Return candidate ids, newest first, and the id down to which they are complete (0: all)."""
    if wanted.repo_ids is None:
        return _of_all(db, wanted, limit)
    return _of_repositories(db, wanted)


def _of_all(db: Connection, wanted: EventFilter, limit: int) -> tuple[list[int], int]:
    filtered = wanted.unwanted or wanted.name is not None or wanted.pattern is not None
    looked = LOOKED if filtered else limit + 1
    rows = db.tuples(
        "SELECT e.id, e.name, e.action FROM event e WHERE e.id < :before"
        " ORDER BY e.id DESC LIMIT :looked",
        before=wanted.before or NEWEST,
        looked=looked,
    )
    ids = [
        event_id
        for event_id, name, action in rows
        if wanted.name in (None, name)
        and (wanted.pattern is None or wanted.pattern.matches(name, action))
    ]
    return ids, rows[-1][0] if len(rows) == looked else 0


def _of_repositories(db: Connection, wanted: EventFilter) -> tuple[list[int], int]:
    """Return candidates from the repositories whose own newest event is among the latest."""
    of = "x.repo_id = w.repo_id AND x.id < :before"
    given: dict[str, Any] = {"before": wanted.before or NEWEST}
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
    each = LOOKED // len(looked)
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
    rows = db.tuples(
        f"SELECT e.id FROM {db.each('ids', id='integer')} AS w JOIN event e ON e.id = w.id"
        f" WHERE {where} ORDER BY e.id DESC",
        ids=json_array(ids),
        **given,
    )
    return [row[0] for row in rows]


def _above(rows: Sequence[tuple[Any, ...]], each: int, floor: int) -> tuple[list[int], int]:
    """Drop ids below the last one of a repository that may have more: there, others are missing."""
    found: dict[int, list[int]] = {}
    for repo_id, event_id in rows:
        found.setdefault(repo_id, []).append(event_id)
    for ids in found.values():
        if len(ids) == each:
            floor = max(floor, ids[-1])
    return [event_id for _, event_id in rows if event_id >= floor], floor


def _unwanted(db: Connection, ids: list[int]) -> list[int]:
    rows = db.tuples(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w WHERE NOT EXISTS"
        " (SELECT 1 FROM delivery d WHERE d.event_id = w.id AND d.redelivery = 0)"
        " ORDER BY w.id DESC",
        ids=json_array(ids),
    )
    return [row[0] for row in rows]


SHOWN = (
    f"SELECT {COLUMNS}, CASE WHEN e.body IS NULL THEN 0 ELSE 1 END AS kept,"
    " a.login || '/' || r.name AS repository, g.login AS organization, s.name AS source,"
    " (SELECT count(*) FROM (SELECT d.id FROM delivery d WHERE d.event_id = e.id"
    f" LIMIT {COUNTED}) AS c) AS deliveries"
    " FROM event e LEFT JOIN repository r ON r.id = e.repo_id"
    " LEFT JOIN account a ON a.id = r.owner_id LEFT JOIN account g ON g.id = e.org_id"
    " LEFT JOIN source s ON s.id = e.source_id"
)


def _rows(db: Connection, ids: list[int]) -> list[Row]:
    return db.all(
        f"{SHOWN} WHERE e.id IN (SELECT id FROM {db.each('ids', id='integer')} AS w)"
        " ORDER BY e.id DESC",
        ids=json_array(ids),
    )


def get(db: Connection, event_id: int) -> Row | None:
    """Return one event as `page` returns it, or None."""
    return db.one(f"{SHOWN} WHERE e.id = :id", id=event_id)


def deliveries_of(
    db: Connection, event_id: int, limit: int, org_ids: Sequence[int] | None = None
) -> list[Row]:
    """Return an event's deliveries, newest first, as `deliveries.page` returns them.

    With `org_ids`, those to hooks of other organizations and of the installation are left out.
    """
    where = "d.event_id = :event_id"
    given: dict[str, Any] = {"event_id": event_id}
    if org_ids is not None:
        where += (
            " AND (d.hook_id < 0 OR h.repo_id IS NOT NULL OR h.org_id IN"
            f" (SELECT id FROM {db.each('orgs', id='integer')} AS o))"
        )
        given["orgs"] = json_array(org_ids)
    return deliveries.select(db, where, given, limit)


def newest(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    name: str | None = None,
    repo_id: int | None = None,
    unwanted: bool = False,
) -> list[Row]:
    """Return the newest events, however many have to be examined for that.

    Each has its `repository` (owner/name or None) and its number of `deliveries`, all of them
    counted.
    """
    where = ["e.id < :before"] if before is not None else []
    where += ["e.name = :name"] if name is not None else []
    where += ["e.repo_id = :repo_id"] if repo_id is not None else []
    counted = "SELECT count(*) FROM delivery d WHERE d.event_id = e.id AND d.redelivery = 0"
    where += [f"({counted}) = 0"] if unwanted else []
    given = {"before": before, "name": name, "repo_id": repo_id}
    return db.all(
        f"SELECT {COLUMNS}, a.login || '/' || r.name AS repository, ({counted}) AS deliveries"
        " FROM event e LEFT JOIN repository r ON r.id = e.repo_id"
        " LEFT JOIN account a ON a.id = r.owner_id"
        f"{' WHERE ' + ' AND '.join(where) if where else ''} ORDER BY e.id DESC LIMIT :limit",
        limit=limit,
        **{key: value for key, value in given.items() if value is not None},
    )


def latest(db: Connection, repo_id: int, name: str) -> Row | None:
    """Return the repository's latest event of this name that has a body, or None; omit the body.

    Examples do not count.
    """
    return db.one(
        f"SELECT {COLUMNS} FROM event e WHERE e.repo_id = :repo_id AND e.name = :name"
        f" AND e.body IS NOT NULL AND e.source_id <> {EXAMPLE_SOURCE} ORDER BY e.id DESC LIMIT 1",
        repo_id=repo_id,
        name=name,
    )
