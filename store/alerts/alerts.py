"""The table of alerts: at most one is open of a kind, a hook and a subject."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from store.database.connection import Connection, Row, json_array
from store.hooks.hook_targets import NAMED, NAMES
from store.monitoring import name_search

COLUMNS = "a.id, a.kind, a.hook_id, a.subject, a.data, a.opened_at, a.well_since, a.closed_at"
HOOK = (
    f", h.url, h.repo_id, h.org_id, {NAMES},"
    " CASE WHEN h.id IS NOT NULL AND h.repo_id IS NULL AND h.org_id IS NULL AND h.app_id IS NULL"
    " THEN 1 ELSE 0 END AS of_system"
)
FROM = f"FROM alert a LEFT JOIN hook h ON h.id = a.hook_id{NAMED}"
INSTALLATION = 0
"""The hook of alerts about the whole installation."""


@dataclass(frozen=True, slots=True)
class NewAlert:
    """An alert to open. `hook_id` is INSTALLATION if it is about no hook."""

    kind: str
    hook_id: int
    data: dict[str, Any] = field(default_factory=dict)
    subject: str = ""
    """The part of the hook that the alert is about, such as an ordering key."""
    momentary: bool = False
    """Whether the alert reports a single event, and so closes at once."""
    ends: int | None = None
    """The open alert whose end it reports."""


def open_all(db: Connection, found: Iterable[NewAlert]) -> list[int]:
    """Open these alerts, unless they are open already. Return the ids of the new ones."""
    made = db.insert_many(
        "alert",
        "kind, hook_id, subject, data, opened_at, closed_at",
        [(a.kind, a.hook_id, a.subject, json.dumps(a.data), db.now, _closed(db, a)) for a in found],
        "ON CONFLICT (kind, hook_id, subject) WHERE closed_at IS NULL DO NOTHING RETURNING id",
    )
    return [number for (number,) in made]


def _closed(db: Connection, alert: NewAlert) -> int | None:
    return db.now if alert.momentary else None


def close_all(db: Connection, alert_ids: Iterable[int]) -> list[int]:
    """Close alerts. Return the ids of those that were open."""
    return _change(db, "closed_at = :now", alert_ids)


def mark_well(db: Connection, alert_ids: Iterable[int], *, well: bool) -> None:
    """Record whether the conditions of alerts are over for now."""
    _change(db, "well_since = CAST(:since AS BIGINT)", alert_ids, since=db.now if well else None)


def _change(db: Connection, change: str, alert_ids: Iterable[int], **given: object) -> list[int]:
    return db.column(
        f"UPDATE alert SET {change} WHERE closed_at IS NULL AND id {db.among('ids')} RETURNING id",
        ids=json_array(alert_ids),
        **given,
    )


def begin_now(db: Connection, kind: str, hook_ids: Iterable[int]) -> None:
    """Let open alerts of these hooks begin now that begin later: a fast clock has opened them."""
    db.execute(
        "UPDATE alert SET opened_at = :now WHERE closed_at IS NULL AND opened_at > :now"
        f" AND kind = :kind AND hook_id {db.among('ids')}",
        kind=kind,
        ids=json_array(sorted(hook_ids)),
    )


def get_many(db: Connection, alert_ids: Sequence[int]) -> list[Row]:
    """Return alerts with their hooks, oldest first."""
    return _read(db, f"a.id {db.among('ids')}", "a.id", ids=json_array(alert_ids))


def list_open(
    db: Connection,
    kinds: Iterable[str],
    limit: int,
    repo_ids: Sequence[int] | None = None,
    org_ids: Sequence[int] = (),
) -> list[Row]:
    """Return the open alerts of these kinds with their hooks, oldest first.

    If `repo_ids` is not None, only alerts about hooks of these repositories and of the
    organizations `org_ids` are returned.
    """
    where = f"a.closed_at IS NULL AND a.kind {db.among('kinds', 'text')}"
    given: dict[str, object] = {"kinds": json_array(sorted(kinds))}
    if repo_ids is not None:
        where += f" AND a.hook_id IN ({name_search.hooks_of(db)})"
        given |= {"repos": json_array(repo_ids), "orgs": json_array(org_ids)}
    return _read(db, where, "a.id LIMIT :limit", limit=limit, **given)


def _read(db: Connection, where: str, order: str, **given: object) -> list[Row]:
    rows = db.all(f"SELECT {COLUMNS}{HOOK} {FROM} WHERE {where} ORDER BY {order}", **given)
    for row in rows:
        row["data"] = json.loads(row["data"])
    return rows


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete alerts that closed before a time, up to a limit. Return their number."""
    chosen = (
        "SELECT x.id FROM alert x WHERE x.closed_at < :before ORDER BY x.closed_at, x.id"
        " LIMIT :limit"
    )
    return db.execute(f"DELETE FROM alert WHERE id {db.chosen(chosen)}", before=before, limit=limit)
