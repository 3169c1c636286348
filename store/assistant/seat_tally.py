"""How many seats organizations have: stored counts by the time at which the seats end."""

from collections import Counter
from collections.abc import Collection

from store.database import upsert
from store.database.connection import Connection, Row

NEVER = 0
"""The time of seats that do not end."""

SeatCounts = Counter[tuple[int, int]]
"""Organization and end of seats to their number, which may be negative."""


def total(db: Connection, organization_id: int) -> int:
    """Return how many seats an organization has that have not ended."""
    return db.number(
        "SELECT CAST(coalesce(sum(seats), 0) AS BIGINT) FROM assistant_seat_tally"
        " WHERE organization_id = :organization_id AND (ends_at = :never OR ends_at > :now)",
        organization_id=organization_id,
        never=NEVER,
    )


def add(db: Connection, changes: SeatCounts) -> None:
    upsert.add_counts(db, "assistant_seat_tally", "organization_id, ends_at", "seats", changes)


def subtract(db: Connection, deleted: Collection[Row]) -> None:
    changes: SeatCounts = Counter()
    changes.subtract(map(_key, deleted))
    add(db, changes)


def move(db: Connection, before: Collection[Row], ends: int | None) -> None:
    """Count seats at another end (None: they do not end). `before` has them as they were."""
    changes: SeatCounts = Counter(_key({**row, "expires_at": ends}) for row in before)
    changes.subtract(map(_key, before))
    add(db, changes)


def _key(row: Row) -> tuple[int, int]:
    return row["organization_id"], row["expires_at"] or NEVER
