"""The table of expiring objects: the worker deletes them at their time and writes an event.

Readers ignore expired objects, so that the worker's exact timing does not matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from store.accounts import token_expiry
from store.assistant import seat_rows, seat_tally
from store.clock import earliest
from store.database.connection import Connection, Row
from store.repositories import interaction_limits, invitations


@dataclass(frozen=True, slots=True)
class ExpiringKind:
    """A kind of expiring object."""

    event: str
    """The event about the expiry, as `name.action`."""
    next_due: Callable[[Connection], int | None]
    """Returns the next expiry, which may be in the past, or None."""
    expire: Callable[[Connection, int], Sequence[Row]]
    """Deletes and returns the expired objects, earliest first, up to a limit."""


def of_table(event: str, table: str, columns: str) -> ExpiringKind:
    """Return the kind for a table with an `id` and an indexed `expires_at`.

    The index must be on `expires_at` and `id`.
    """

    def next_due(db: Connection) -> int | None:
        return db.optional_number(
            f"SELECT expires_at FROM {table} WHERE expires_at IS NOT NULL"
            " ORDER BY expires_at LIMIT 1"
        )

    def expire(db: Connection, limit: int) -> Sequence[Row]:
        chosen = (
            f"SELECT x.id FROM {table} x WHERE x.expires_at <= :now"
            f" ORDER BY x.expires_at, x.id LIMIT :limit{db.skip_locked}"
        )
        rows = db.all(
            f"DELETE FROM {table} WHERE id {db.chosen(chosen)} RETURNING {columns}", limit=limit
        )
        return sorted(rows, key=lambda row: (row["expires_at"], row["id"]))

    return ExpiringKind(event, next_due, expire)


SEATS = of_table("assistant_seat.cancelled", "assistant_seat", seat_rows.COLUMNS)


def _expire_seats(db: Connection, limit: int) -> Sequence[Row]:
    rows = SEATS.expire(db, limit)
    seat_tally.subtract(db, rows)
    return rows


EXPIRING = (
    of_table("interaction_limit.expired", "interaction_limit", interaction_limits.COLUMNS),
    of_table("repository_invitation.expired", "repository_invitation", invitations.COLUMNS),
    replace(SEATS, expire=_expire_seats),
    ExpiringKind("authorization.expired", token_expiry.next_due, token_expiry.expire),
)


def next_due(db: Connection) -> int | None:
    """Return the next expiry of all kinds, which may be in the past, or None."""
    return earliest(*(one.next_due(db) for one in EXPIRING))
