"""The check of certificates of hooks: which end soon, and which alerts open or are over."""

from store.alerts.alerts import NewAlert
from store.alerts.hook_checks import MOST
from store.alerts.rules import CERTIFICATE
from store.clock import DAY
from store.database.connection import Connection, Row
from store.hook_state import hook_silences

WARNED_DAYS = (30, 7, 1)
"""The numbers of days before a certificate's end at which an alert warns of it."""


def ending(db: Connection, days: int = WARNED_DAYS[0]) -> list[Row]:
    """Return the hooks with a certificate that ends within `days`, or has ended.

    `warned_days` is the smallest of WARNED_DAYS that has been reached. The first to end comes
    first. Inactive hooks are left out.
    """
    rows = db.all(
        "SELECT id, repo_id, org_id, url, certificate_ends_at FROM hook"
        " WHERE certificate_ends_at <= :before AND deleted_at IS NULL AND active = 1"
        " ORDER BY certificate_ends_at, id",
        before=db.now + days * DAY,
    )
    for row in rows:
        left = row["certificate_ends_at"] - db.now
        row["warned_days"] = min((d for d in WARNED_DAYS if left <= d * DAY), default=None)
    return rows


def changed(db: Connection) -> tuple[list[NewAlert], list[int]]:
    """Return the alerts about certificates that open, and the open ones that are over.

    Each of WARNED_DAYS is an alert of its own. Silenced hooks open none.
    """
    soon = {(row["id"], f"{row['warned_days']}d"): row for row in ending(db)}
    known = {
        (hook_id, subject): number
        for number, hook_id, subject in db.tuples(
            "SELECT id, hook_id, subject FROM alert WHERE kind = :kind AND closed_at IS NULL",
            kind=CERTIFICATE,
        )
    }
    silenced = hook_silences.active(db, {hook_id for hook_id, _ in soon})
    opening = [
        NewAlert(CERTIFICATE, hook_id, {"ends_at": row["certificate_ends_at"]}, subject)
        for (hook_id, subject), row in soon.items()
        if (hook_id, subject) not in known and hook_id not in silenced
    ]
    return opening[:MOST], [number for place, number in known.items() if place not in soon][:MOST]
