"""The checks of hooks: which alerts about them have to open, and which are over."""

import json
from collections.abc import Iterable
from typing import Any

from store.alerts.alerts import NewAlert
from store.alerts.rules import (
    AHEAD,
    FAILING,
    HOOK_RULES,
    KEY_BLOCKED,
    RECOVERED,
    WILL_DISABLE,
    HookRule,
)
from store.clock import SECOND
from store.database.connection import Connection, Row
from store.hook_state import hook_health
from store.hook_state.hook_silences import SILENCED

# Alerts of each kind that one pass opens or closes at most. The next pass goes on.
MOST = 500
# Failing hooks that one pass examines for their own `disable_after` at most.
MOST_EXAMINED = 10_000
_MAY_OPEN = (
    "NOT EXISTS (SELECT 1 FROM alert a WHERE a.kind = :kind AND a.hook_id = h.id"
    f" AND a.closed_at IS NULL) AND h.id NOT IN {SILENCED}"
)


def to_open(db: Connection) -> list[NewAlert]:
    return [alert for rule in HOOK_RULES for alert in _of_rule(db, rule)]


def _of_rule(db: Connection, rule: HookRule) -> list[NewAlert]:
    rows = db.all(
        f"SELECT h.id, {rule.since} AS since, h.pause_reason,"
        " coalesce(h.disabled_reason, h.pause_reason) AS reason FROM hook h"
        f" WHERE {rule.opens} AND {_MAY_OPEN} ORDER BY h.id LIMIT :most",
        kind=rule.kind,
        most=MOST,
    )
    return _alerts(db, rule.kind, rows)


def _alerts(db: Connection, kind: str, rows: Iterable[Row]) -> list[NewAlert]:
    found = list(rows)
    # If the worker has paused a hook as unusable, no attempt is the reason.
    tried = [row["id"] for row in found if not row.get("pause_reason")]
    attempts = hook_health.recent_attempts(db, tried, 1)
    return [NewAlert(kind, row["id"], _data(row, attempts.get(row["id"], []))) for row in found]


def _data(row: Row, attempts: list[Row]) -> dict[str, Any]:
    data = {name: row[name] for name in ("since", "reason", "disable_at") if row.get(name)}
    for attempt in attempts:
        data["attempt"] = {
            name: attempt[name] for name in ("id", "status_code", "error", "started_at")
        }
    return data


def will_disable(db: Connection, disable_after: float) -> list[NewAlert]:
    """Return the alerts about hooks that are disabled within AHEAD if they fail until then.

    `disable_after` is the setting in seconds, for hooks without an option of their own.
    """
    rows = db.all(
        "SELECT h.id, h.failing_since AS since, h.options FROM hook h WHERE h.active = 1"
        " AND h.failing_since IS NOT NULL AND h.paused_at IS NULL AND h.deleted_at IS NULL"
        f" AND {_MAY_OPEN} ORDER BY h.failing_since LIMIT :most",
        kind=WILL_DISABLE,
        most=MOST_EXAMINED,
    )
    found = [
        {**row, "disable_at": row["since"] + span}
        for row in rows
        if (span := _ends_soon(db, row, disable_after))
    ]
    return _alerts(db, WILL_DISABLE, found[:MOST])


def _ends_soon(db: Connection, row: Row, disable_after: float) -> int:
    """Return after how long a failing hook is disabled if that is within AHEAD, or else 0."""
    chosen = json.loads(row["options"]).get("disable_after")
    span = round((disable_after if chosen is None else chosen) * SECOND)
    # If the span is so short that AHEAD covers most of it, the alert opens after half of it.
    return span if db.now >= row["since"] + max(span - AHEAD, span // 2) else 0


def postponed(db: Connection, disable_after: float) -> list[int]:
    """Return the open alerts about hooks that are disabled later than in AHEAD, or never.

    The hook's option or the setting has changed.
    """
    rows = db.all(
        "SELECT a.id, h.failing_since AS since, h.options FROM alert a JOIN hook h"
        " ON h.id = a.hook_id WHERE a.kind = :kind AND a.closed_at IS NULL"
        " AND h.failing_since IS NOT NULL ORDER BY a.id LIMIT :most",
        kind=WILL_DISABLE,
        most=MOST_EXAMINED,
    )
    return [row["id"] for row in rows if not _ends_soon(db, row, disable_after)][:MOST]


def recovered(db: Connection, ended: Iterable[Row]) -> list[NewAlert]:
    """Return a RECOVERED alert for each FAILING one among these whose hook delivers again."""
    failing = {row["hook_id"]: row for row in ended if row["kind"] == FAILING}
    healthy = [
        hook_id
        for hook_id in sorted(failing)
        if db.exists(
            "SELECT 1 FROM hook WHERE id = :id AND active = 1 AND failing_since IS NULL"
            " AND deleted_at IS NULL",
            id=hook_id,
        )
    ]
    latest = hook_health.recent_attempts(db, healthy, 1)
    return [
        NewAlert(
            RECOVERED,
            hook_id,
            _data({"since": failing[hook_id]["opened_at"]}, attempts),
            momentary=True,
            ends=failing[hook_id]["id"],
        )
        for hook_id, attempts in latest.items()
        # If somebody only switched the hook off and on, nothing has shown that it delivers.
        if attempts[0]["error"] is None and 200 <= (attempts[0]["status_code"] or 0) < 300
    ]


def over(db: Connection) -> list[Row]:
    """Return the open alerts about hooks whose conditions are over, with `settles`."""
    conditions = {rule.kind: (rule.stays, rule.settles) for rule in HOOK_RULES}
    failing, _ = conditions[FAILING]
    conditions[WILL_DISABLE] = failing, 0
    return [
        # A hook that is off or gone cannot fail again.
        {**row, "settles": settles if row["active"] else 0}
        for kind, (stays, settles) in conditions.items()
        for row in db.all(
            "SELECT a.id, a.kind, a.hook_id, a.opened_at, a.well_since, (SELECT g.active FROM"
            " hook g WHERE g.id = a.hook_id AND g.deleted_at IS NULL) AS active FROM alert a"
            " WHERE a.kind = :kind AND a.closed_at IS NULL AND NOT EXISTS"
            f" (SELECT 1 FROM hook h WHERE h.id = a.hook_id AND {stays}) ORDER BY a.id LIMIT :most",
            kind=kind,
            most=MOST,
        )
    ]


def relapsed(db: Connection) -> list[int]:
    """Return the open alerts that were about to close, and whose conditions hold again."""
    return db.column(
        "SELECT a.id FROM alert a JOIN hook h ON h.id = a.hook_id WHERE a.kind = :kind"
        " AND a.closed_at IS NULL AND a.well_since IS NOT NULL AND h.failing_since IS NOT NULL",
        kind=FAILING,
    )


def blocked_keys(db: Connection) -> list[NewAlert]:
    """Return the alerts about keys of ordered hooks that wait for an operator."""
    rows = db.all(
        "SELECT k.hook_id, k.key, k.blocked_by, k.blocked_at FROM ordering_key k"
        " JOIN hook h ON h.id = k.hook_id WHERE k.blocked_at IS NOT NULL AND h.deleted_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM alert a WHERE a.kind = :kind AND a.hook_id = k.hook_id"
        " AND a.subject = k.key AND a.closed_at IS NULL)"
        f" AND h.id NOT IN {SILENCED} ORDER BY k.id LIMIT :most",
        kind=KEY_BLOCKED,
        most=MOST,
    )
    return [
        NewAlert(
            KEY_BLOCKED,
            row["hook_id"],
            {"since": row["blocked_at"], "delivery_id": row["blocked_by"]},
            row["key"],
        )
        for row in rows
    ]


def freed_keys(db: Connection) -> list[int]:
    """Return the open alerts about keys that are no longer blocked."""
    return db.column(
        "SELECT a.id FROM alert a WHERE a.kind = :kind AND a.closed_at IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM ordering_key k WHERE k.hook_id = a.hook_id AND k.key = a.subject"
        " AND k.blocked_at IS NOT NULL) ORDER BY a.id LIMIT :most",
        kind=KEY_BLOCKED,
        most=MOST,
    )
