"""The `created_at` of entries in a state document."""

from datetime import datetime

from store import Connection, Row, clock
from store.database import upsert
from store.errors import Invalid


def give(db: Connection, table: str, row: Row, created_at: datetime | None) -> bool:
    """Set the `created_at` of a row, if the document has one. Return whether that changes anything.

    Raises Invalid if the time is in the future or before 1970.
    """
    if created_at is None:
        return False
    moment = clock.from_datetime(created_at)
    if not 0 <= moment <= db.now:
        raise Invalid(
            f"created_at must be from 1970-01-01 to now, {clock.iso(db.now)}:"
            f" {created_at.isoformat()} is not"
        )
    return upsert.update(db, table, row, {"created_at": moment})
