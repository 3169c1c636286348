"""The certificates that hooks use: which of them end soon."""

from store.clock import DAY
from store.database.connection import Connection, Row

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
