"""Since when a thing is there, as a state document says."""

from datetime import datetime

from hub.cli.state.base import microseconds
from store import Connection, Row, clock
from store.database import upsert
from store.errors import Invalid


def give(db: Connection, table: str, row: Row, created_at: datetime | None) -> bool:
    """Give a row its age, where the document says one; whether that changes anything.

    Invalid for a time to come, and for one before 1970.
    """
    if created_at is None:
        return False
    moment = microseconds(created_at)
    if not 0 <= moment <= db.now:
        raise Invalid(
            f"created_at is from 1970-01-01 to now, {clock.iso(db.now)}:"
            f" {created_at.isoformat()} is not"
        )
    return upsert.update(db, table, row, {"created_at": moment})
