"""Lists of applications, each with the numbers of its `tokens`, `keys` and `installations`."""

from store.accounts.apps import COLUMNS, OWNED, decode_row
from store.database.connection import Connection, Row
from store.database.list_order import Matches
from store.database.newest_rows import NewestRows
from store.database.patterns import containing
from store.database.time_range import ALWAYS, TimeRange

COUNTED = {"tokens": "token", "keys": "app_key", "installations": "installation"}
SELECT = (
    f"SELECT {COLUMNS}, "
    + ", ".join(
        f"(SELECT count(*) FROM {table} x WHERE x.app_id = p.id) AS {name}"
        for name, table in COUNTED.items()
    )
    + f" {OWNED}"
)


def every(db: Connection) -> list[Row]:
    """Return every application, by name."""
    return [decode_row(row) for row in db.all(f"{SELECT} ORDER BY p.name_key")]


def get(db: Connection, app_id: int) -> Row | None:
    """Return the application with this id, or None."""
    row = db.one(f"{SELECT} WHERE p.id = :id", id=app_id)
    return None if row is None else decode_row(row)


def page(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    text: str = "",
    times: TimeRange = ALWAYS,
) -> list[Row]:
    """Return the newest applications whose name, slug or owner contains a text.

    `before` is an id, and `times` limits when they were created.
    """
    return [decode_row(row) for row in _rows(db, text, times, before).page(SELECT, limit)]


def count(db: Connection, text: str, times: TimeRange) -> Matches:
    """Return the number of applications that `page` lists."""
    return _rows(db, text, times).count(OWNED)


def _rows(db: Connection, text: str, times: TimeRange, before: int | None = None) -> NewestRows:
    found = NewestRows(db, "app", times, before, alias="p")
    if not text:
        return found
    either = " OR ".join(
        f"{name} LIKE :text ESCAPE '!'" for name in ("p.name_key", "p.slug", "a.login_key")
    )
    return found.meeting(f"({either})", text=containing(text))
