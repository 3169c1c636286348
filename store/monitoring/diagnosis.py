"""What `tocsin doctor` asks a database."""

from store.database.connection import Connection
from store.database.encrypted_columns import ENCRYPTED_COLUMNS, newest_values
from store.database.migrations import CLOSED

# Of each kind of secret so many are tried, the newest.
TRIED = 20


def migration_state(db: Connection) -> tuple[int, str | None]:
    """The newest step that made it, and why it is closed, if it is."""
    step = db.value("SELECT max(number) FROM migration WHERE number < :closed", closed=CLOSED)
    closed = db.value("SELECT name FROM migration WHERE number = :closed", closed=CLOSED)
    return step or 0, closed


def undecryptable_secrets(db: Connection) -> dict[str, tuple[int, int]]:
    """Kinds of secrets of which some do not open: how many, of how many that were tried."""
    found = {}
    for one in ENCRYPTED_COLUMNS:
        values = newest_values(db, one, TRIED)
        closed = sum(not db.vault.can_open(value) for value in values)
        if closed:
            found[str(one)] = closed, len(values)
    return found


def newest_event_at(db: Connection) -> int | None:
    """When the last event came."""
    found: int | None = db.value("SELECT received_at FROM event ORDER BY id DESC LIMIT 1")
    return found


def callbacks(db: Connection, limit: int) -> list[tuple[int, str]]:
    """Id and URL of hooks that are delivered to, the newest."""
    rows = db.tuples(
        "SELECT id, url FROM hook WHERE active = 1 AND deleted_at IS NULL"
        " ORDER BY id DESC LIMIT :limit",
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]
