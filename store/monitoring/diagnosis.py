"""The queries of `tocsin doctor`."""

from store.database.connection import Connection
from store.database.encrypted_columns import ENCRYPTED_COLUMNS, newest_values

# The number of newest values tried for each kind of secret.
TRIED = 20


def undecryptable_secrets(db: Connection) -> dict[str, tuple[int, int]]:
    """Return kinds of secrets to how many cannot be decrypted, and how many were tried.

    Kinds without such secrets are left out.
    """
    found = {}
    for one in ENCRYPTED_COLUMNS:
        values = newest_values(db, one, TRIED)
        closed = sum(not db.vault.can_open(value) for value in values)
        if closed:
            found[str(one)] = closed, len(values)
    return found


def newest_event_at(db: Connection) -> int | None:
    """Return when the last event was received, or None."""
    return db.optional_number("SELECT received_at FROM event ORDER BY id DESC LIMIT 1")


def callbacks(db: Connection, limit: int) -> list[tuple[int, str]]:
    """Return id and URL of the newest active hooks to whose URLs something is sent."""
    rows = db.tuples(
        "SELECT id, url FROM hook WHERE active = 1 AND pull = 0 AND deleted_at IS NULL"
        " ORDER BY id DESC LIMIT :limit",
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]
