"""What ends by itself at its time, in one table: the worker removes it then and tells of it.

Whoever reads these things passes over those that are over, so that it matters to nobody when
exactly the worker comes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from store.accounts import token_expiry
from store.assistant import assistant_seats
from store.database.connection import Connection, Row
from store.repositories import interaction_limits, invitations


@dataclass(frozen=True, slots=True)
class ExpiringKind:
    """A kind of thing that ends by itself."""

    event: str
    """What is told of its end, as `name.action`."""
    next_due: Callable[[Connection], int | None]
    """When the next one ends, or has ended; None where there is none."""
    expire: Callable[[Connection, int], Sequence[Row]]
    """Remove those that have ended, so many at most, the first to end first, and return them."""


def of_table(event: str, table: str, columns: str) -> ExpiringKind:
    """The rows of a table with an `id`, each of which ends at its `expires_at`, which has an
    index with the id behind it.
    """

    def next_due(db: Connection) -> int | None:
        ends: int | None = db.value(
            f"SELECT expires_at FROM {table} WHERE expires_at IS NOT NULL"
            " ORDER BY expires_at LIMIT 1"
        )
        return ends

    def expire(db: Connection, limit: int) -> Sequence[Row]:
        chosen = (
            f"SELECT x.id FROM {table} x WHERE x.expires_at <= :now"
            f" ORDER BY x.expires_at, x.id LIMIT :limit{db.skip_locked}"
        )
        rows = db.all(
            f"DELETE FROM {table} WHERE id {db.chosen(chosen)} RETURNING {columns}",
            now=db.now,
            limit=limit,
        )
        return sorted(rows, key=lambda row: (row["expires_at"], row["id"]))

    return ExpiringKind(event, next_due, expire)


EXPIRING = (
    of_table("interaction_limit.expired", "interaction_limit", interaction_limits.COLUMNS),
    of_table("repository_invitation.expired", "repository_invitation", invitations.COLUMNS),
    of_table("assistant_seat.cancelled", "assistant_seat", assistant_seats.COLUMNS),
    ExpiringKind("authorization.expired", token_expiry.next_due, token_expiry.expire),
)


def next_due(db: Connection) -> int | None:
    """When the next of all these ends, or has ended."""
    moments = [one.next_due(db) for one in EXPIRING]
    return min((moment for moment in moments if moment is not None), default=None)
