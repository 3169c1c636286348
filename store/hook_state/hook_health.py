"""Hooks with their health: latest attempts, waiting deliveries, the reason why one is disabled."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from store.database import row_lookup
from store.database.connection import Connection, Row, json_array
from store.hook_state import hook_silences
from store.hooks.hook_targets import NAMED, NAMES
from store.monitoring import name_search

COLUMNS = (
    "h.id, h.repo_id, h.org_id, h.app_id, h.url, h.active, h.events, h.disabled_reason,"
    f" h.failing_since, h.resting_until, h.held_until, h.paused_at, h.created_at, {NAMES}"
)
# Waiting deliveries are counted up to this number.
MOST = 1_000
RECENT = 24
# The dashboard's name of each state of health, to its SQL condition. An index supports each one.
STATES = {
    "paused": "h.paused_at IS NOT NULL",
    "failing": "h.failing_since IS NOT NULL AND h.active = 1 AND h.paused_at IS NULL"
    " AND (h.resting_until IS NULL OR h.resting_until <= :now)",
    "circuit open": "h.failing_since IS NOT NULL AND h.active = 1 AND h.paused_at IS NULL"
    " AND h.resting_until > :now",
    "disabled": "h.disabled_reason IS NOT NULL",
    "off": "h.active = 0 AND h.disabled_reason IS NULL",
}


def with_health(db: Connection, rows: list[Row]) -> list[Row]:
    """Return hooks, each with what `with_attempts` adds, and with its waiting deliveries."""
    ids = [row["id"] for row in rows]
    waiting, filtered = _waiting(db, ids), _filtered(db, ids)
    for row in with_attempts(db, rows):
        row["waiting"], row["next_at"] = waiting.get(row["id"], (0, None))
        row["filtered"] = filtered.get(row["id"], 0)
    return rows


def with_attempts(db: Connection, rows: list[Row]) -> list[Row]:
    """Return hooks, each with its latest attempts, and its silence or None."""
    ids = [row["id"] for row in rows]
    attempts, silences = recent_attempts(db, ids), hook_silences.active(db, ids)
    for row in rows:
        row["recent"], row["silence"] = attempts.get(row["id"], []), silences.get(row["id"])
    return rows


def recent_attempts(
    db: Connection, hook_ids: Iterable[int], many: int = RECENT
) -> dict[int, list[Row]]:
    """Return each hook's latest attempts, newest first, with `id`, `status_code`, `error`,
    `started_at` and `duration`.
    """
    first = "SELECT x.id FROM attempt x WHERE x.hook_id = w.hook_id ORDER BY x.id DESC LIMIT :many"
    found: dict[int, list[Row]] = {}
    for row in db.all(
        "SELECT w.hook_id, a.id, a.status_code, a.error, a.started_at, a.duration"
        f" FROM {db.each('hooks', hook_id='integer')} AS w {db.lateral('attempt', 'f', first)}"
        " JOIN attempt a ON a.id = f.id ORDER BY a.id DESC",
        hooks=json_array(hook_ids),
        many=many,
    ):
        found.setdefault(row["hook_id"], []).append(row)
    return found


def _waiting(db: Connection, hook_ids: Iterable[int]) -> dict[int, tuple[int, int | None]]:
    """Return how many deliveries wait for each hook, up to MOST, and when the first one is due."""
    due = "x.hook_id = w.hook_id AND x.state = 0 AND x.lease_id IS NULL"
    rows = db.tuples(
        "SELECT w.hook_id, (SELECT count(*) FROM (SELECT x.due_at FROM delivery x"
        f" WHERE {due} ORDER BY x.due_at LIMIT {MOST}) AS f)"
        # In an ordered hook, more deliveries wait behind these.
        " + (SELECT count(*) FROM (SELECT x.id FROM delivery x WHERE x.hook_id = w.hook_id"
        " AND x.ordering_key IS NOT NULL AND x.state IN (0, 4) AND x.state = 4"
        f" LIMIT {MOST}) AS g),"
        f" (SELECT x.due_at FROM delivery x WHERE {due} ORDER BY x.due_at LIMIT 1)"
        f" FROM {db.each('hooks', hook_id='integer')} AS w",
        hooks=json_array(hook_ids),
    )
    return {hook_id: (many, at) for hook_id, many, at in rows}


def _filtered(db: Connection, hook_ids: Iterable[int]) -> dict[int, int]:
    """Return how many deliveries on record each hook's filter left out, up to MOST."""
    return db.mapping(
        "SELECT w.hook_id, (SELECT count(*) FROM (SELECT x.id FROM delivery x"
        f" WHERE x.hook_id = w.hook_id AND x.state = 3 LIMIT {MOST}) AS f)"
        f" FROM {db.each('hooks', hook_id='integer')} AS w",
        hooks=json_array(hook_ids),
    )


def get(db: Connection, hook_id: int) -> Row | None:
    """Return a hook with its health, or None."""
    rows = db.all(
        f"SELECT {COLUMNS} FROM hook h{NAMED} WHERE h.id = :id AND h.deleted_at IS NULL",
        id=hook_id,
    )
    for row in rows:
        row["events"] = json.loads(row["events"])
    return with_health(db, rows)[0] if rows else None


def rows_of(db: Connection, hook_ids: Iterable[int]) -> dict[int, Row]:
    """Return these hooks by their ids, without counts. Deleted ones are left out."""
    query = f"SELECT {COLUMNS} FROM hook h{NAMED} WHERE h.deleted_at IS NULL AND h.id"
    return row_lookup.by_id(db, query, hook_ids)


def slowest(
    db: Connection,
    repo_ids: Sequence[int] | None,
    window: int,
    limit: int,
    org_ids: Sequence[int] = (),
) -> list[Row]:
    """Return the hooks with the longest average duration among all newest `window` attempts.

    Each has `hook_id`, `url`, `repository`, `many`, `failed`, and `mean` and `longest` in
    microseconds. `repo_ids` limits the result, not the window, and `org_ids` adds to it.
    """
    where, given = "", {}
    if repo_ids is not None:
        where = f" WHERE f.hook_id IN ({name_search.hooks_of(db)})"
        given = {"repos": json_array(repo_ids), "orgs": json_array(org_ids)}
    return db.all(
        f"SELECT g.*, h.url, {NAMES} FROM ("
        "SELECT f.hook_id, count(*) AS many, sum(f.failed) AS failed,"
        " CAST(avg(f.duration) AS BIGINT) AS mean, max(f.duration) AS longest FROM ("
        "SELECT a.hook_id, a.repo_id, a.duration, CASE WHEN a.error IS NULL AND a.status_code"
        " BETWEEN 200 AND 299 THEN 0 ELSE 1 END AS failed"
        f" FROM attempt a ORDER BY a.id DESC LIMIT :window) AS f{where}"
        " GROUP BY f.hook_id ORDER BY mean DESC, f.hook_id LIMIT :limit) AS g"
        f" JOIN hook h ON h.id = g.hook_id{NAMED}"
        " WHERE h.deleted_at IS NULL ORDER BY g.mean DESC, g.hook_id",
        window=window,
        limit=limit,
        **given,
    )


def failing(
    db: Connection,
    repo_ids: Sequence[int] | None,
    limit: int,
    skip: int = 0,
    hook_ids: Sequence[int] | None = None,
    org_ids: Sequence[int] = (),
) -> list[Row]:
    """Return the hooks that do not deliver, the worst first. Paused ones are left out.

    The order is: disabled after failures, circuit open, failing, and in each the longest failing
    first. Each row has `total`, the number of all such hooks, up to MOST of each kind, and
    `failing_first`, the time since which the longest of them has been failing.
    """
    source, given = from_failing(db, repo_ids, org_ids, hook_ids)
    return db.all(
        f"SELECT {COLUMNS}, count(*) OVER () AS total,"
        " min(h.failing_since) OVER () AS failing_first"
        f" FROM {source}"
        " ORDER BY CASE WHEN h.disabled_reason IS NOT NULL THEN 0"
        " WHEN h.resting_until > :now THEN 1 ELSE 2 END, h.failing_since, h.id"
        " LIMIT :limit OFFSET :skip",
        limit=limit,
        skip=skip,
        **given,
    )


def from_failing(
    db: Connection,
    repo_ids: Sequence[int] | None,
    org_ids: Sequence[int],
    hook_ids: Sequence[int] | None = None,
) -> tuple[str, dict[str, str]]:
    """Return what follows FROM to select the hooks `h` of `failing`, and its parameters."""
    where = ""
    given: dict[str, str] = {}
    if repo_ids is not None:
        where += f" AND h.id IN ({name_search.hooks_of(db)})"
        given |= {"repos": json_array(repo_ids), "orgs": json_array(org_ids)}
    if hook_ids is not None:
        where += f" AND h.id {db.among('hooks')}"
        given["hooks"] = json_array(hook_ids)
    kinds = " UNION ".join(
        f"SELECT id FROM (SELECT h.id FROM hook h WHERE {kind} AND h.deleted_at IS NULL{where}"
        f" ORDER BY h.id LIMIT {MOST}) AS k{number}"
        for number, kind in enumerate(("h.failing_since IS NOT NULL", STATES["disabled"]))
    )
    return (
        f"({kinds}) AS f JOIN hook h ON h.id = f.id{NAMED} WHERE h.paused_at IS NULL"
        " AND (h.active = 1 OR h.disabled_reason IS NOT NULL)"
    ), given


def unhealthy(
    db: Connection,
    repo_ids: Sequence[int] | None,
    limit: int,
    skip: int = 0,
    hook_ids: Sequence[int] | None = None,
    org_ids: Sequence[int] = (),
) -> list[Row]:
    """Return what `failing` does, each hook with its health."""
    rows = failing(db, repo_ids, limit, skip, hook_ids, org_ids)
    for row in rows:
        row["events"] = json.loads(row["events"])
    return with_health(db, rows)


@dataclass(frozen=True, slots=True)
class Cooldown:
    """A time in which a hook gets nothing, because its circuit breaker opened."""

    until: int
    """When it ends, in microseconds. It is 0 if a person changed the hook since it began."""
    length: int
    """How long it is, in microseconds. It is 0 if that is not known."""


def last_rest(db: Connection, hook: Row) -> Cooldown | None:
    """Return the last rest of a failing hook. Return None if its breaker did not open."""
    # With LIMIT, PostgreSQL looks for the last attempt once, and not for each attempt.
    found = db.one(
        "SELECT f.resting_until, a.started_at + a.duration AS began FROM (SELECT h.resting_until,"
        " (SELECT max(x.id) FROM attempt x WHERE x.hook_id = h.id) AS last_attempt FROM hook h"
        " WHERE h.id = :id AND h.resting_until IS NOT NULL AND h.failing_since IS NOT NULL"
        " LIMIT 1) AS f LEFT JOIN attempt a ON a.id = f.last_attempt",
        id=hook["id"],
    )
    if found is None:
        return None
    until, began = found["resting_until"], found["began"]
    if began is None:
        return Cooldown(until, 0)
    return Cooldown(0 if hook["updated_at"] > began else until, max(until - began, 0))
