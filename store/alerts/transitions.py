"""One pass over all rules: it finds the alerts that open and close, and records them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from store.alerts import alerts, certificate_checks, hook_checks
from store.alerts.alerts import INSTALLATION, NewAlert
from store.alerts.rules import BACKLOG_HIGH, BACKLOG_NORMAL, EXHAUSTED
from store.clock import MINUTE
from store.database.connection import Connection, Row
from store.delivery import exhausted
from store.monitoring import stats

# Deliveries of a hook that die within this time are one alert.
JOINED = 5 * MINUTE


@dataclass(frozen=True, slots=True)
class AlertLimits:
    """The settings of alerts."""

    disable_after: float
    """Seconds of failing after which hooks are disabled; 0: never."""
    backlog: int
    """Due deliveries from which on the backlog is high; 0: never."""


@dataclass(slots=True)
class AlertChanges:
    """The alerts to open and to close, and those whose condition is over for now or holds again."""

    opening: list[NewAlert] = field(default_factory=list)
    closing: list[int] = field(default_factory=list)
    well: list[int] = field(default_factory=list)
    relapsed: list[int] = field(default_factory=list)
    died: list[int] = field(default_factory=list)
    """The hooks with exhausted deliveries to report."""

    def __bool__(self) -> bool:
        return any((self.opening, self.closing, self.well, self.relapsed, self.died))


def find(db: Connection, limits: AlertLimits) -> AlertChanges:
    """Return the changes for `apply`, by the state of hooks and of the queue. This only reads."""
    ending, renewed = certificate_checks.changed(db)
    changes = AlertChanges(
        opening=[
            *hook_checks.to_open(db),
            *hook_checks.will_disable(db, limits.disable_after),
            *hook_checks.blocked_keys(db),
            *ending,
        ],
        closing=[
            *hook_checks.freed_keys(db),
            *hook_checks.postponed(db, limits.disable_after),
            *renewed,
        ],
        relapsed=hook_checks.relapsed(db),
        died=[row["hook_id"] for row in exhausted.list_older(db, JOINED, hook_checks.MOST)],
    )
    _settle(db, changes, hook_checks.over(db))
    _compare_backlog(db, changes, limits.backlog)
    return changes


def _settle(db: Connection, changes: AlertChanges, over: Sequence[Row]) -> None:
    """Close the alerts whose conditions have been over for long enough."""
    ended = [row for row in over if not row["settles"] or _has_settled(db, row)]
    by_id = {row["id"]: row for row in ended}
    changes.closing += by_id
    changes.opening += hook_checks.recovered(db, ended)
    changes.well += [
        row["id"] for row in over if row["id"] not in by_id and row["well_since"] is None
    ]


def _has_settled(db: Connection, row: Row) -> bool:
    """Return whether a condition has been over for long enough.

    A time that lies ahead was written by a clock that was fast.
    """
    since = row["well_since"]
    return since is not None and not db.now - row["settles"] < since <= db.now


def _compare_backlog(db: Connection, changes: AlertChanges, limit: int) -> None:
    """Open the alert if the backlog reaches the limit, and close it below half of that."""
    open_ones = db.tuples(
        "SELECT id FROM alert WHERE kind = :kind AND closed_at IS NULL", kind=BACKLOG_HIGH
    )
    if not limit and not open_ones:
        return
    due, late, _ = stats.count_waiting(db)
    data = {"due": due, "late": late, "limit": limit}
    if open_ones and (not limit or due < limit / 2):
        ((ended,),) = open_ones
        changes.closing.append(ended)
        normal = NewAlert(BACKLOG_NORMAL, INSTALLATION, data, momentary=True, ends=ended)
        changes.opening.append(normal)
    elif limit and due >= limit and not open_ones:
        changes.opening.append(NewAlert(BACKLOG_HIGH, INSTALLATION, data))


def apply(db: Connection, changes: AlertChanges) -> list[Row]:
    """Record the changes. Return the new alerts with their hooks.

    If two processes apply the same changes, each alert opens once.
    """
    opening = [*changes.opening, *_died(db, changes.died)]
    alerts.mark_well(db, changes.well, well=True)
    alerts.mark_well(db, changes.relapsed, well=False)
    closed = set(alerts.close_all(db, changes.closing))
    # The end of an alert is reported by the process that closed it.
    opening = [one for one in opening if one.ends is None or one.ends in closed]
    return alerts.get_many(db, alerts.open_all(db, opening))


def _died(db: Connection, hook_ids: Sequence[int]) -> list[NewAlert]:
    rows = [row for hook_id in hook_ids if (row := exhausted.take(db, hook_id)) is not None]
    return [
        NewAlert(
            EXHAUSTED,
            row["hook_id"],
            {
                "count": row["many"],
                "first_delivery_id": row["first_id"],
                "last_delivery_id": row["last_id"],
                "since": row["since"],
                "last_at": row["last_at"],
            },
            momentary=True,
        )
        for row in rows
    ]
