"""Which columns hold what the vault has sealed: the one list of them, for all that is done to every
stored secret. A new one belongs here; tests look for those that are missing.
"""

from dataclasses import dataclass

from store.connection import Connection
from store.errors import Unusable


@dataclass(frozen=True, slots=True)
class Sealed:
    """A column of sealed values, NULL where there is none, in a table with this primary key."""

    table: str
    column: str
    key: tuple[str, ...] = ("id",)

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


SEALED = (
    Sealed("audit_chain", "secret"),
    Sealed("devenv_key", "private_key", ("repo_id",)),
    Sealed("devenv_secret", "value", ("repo_id", "name")),
    Sealed("hook", "previous_secret"),
    Sealed("hook", "secret"),
    Sealed("one_time", "secret", ("account_id",)),
    Sealed("source", "secret"),
    Sealed("source_import", "password", ("repo_id",)),
    Sealed("websub", "secret"),
    Sealed("websub_request", "secret"),
)
# Columns of bytes that are no secrets.
PLAIN = frozenset(
    {
        ("audit", "digest"),
        ("concurrency_group", "name_key"),
        ("concurrency_use", "name_key"),
        ("event", "body"),
        ("event", "digest"),
        ("license_file", "content"),
        ("report_part", "content"),
    }
)
# Looked through for the newest value, so that a long table without any costs next to nothing.
LOOKED_AT = 100
# Of each kind, so that one which is damaged does not speak for all.
TRIED = 5


def any_there(db: Connection) -> bool:
    """Whether anything is sealed."""
    return any(
        db.value(f"SELECT 1 FROM {one.table} WHERE {one.column} IS NOT NULL LIMIT 1")
        for one in SEALED
    )


def is_there(db: Connection, one: Sealed) -> bool:
    """Whether a SQLite database, which may be older than this program, has the column."""
    sql = f"SELECT 1 FROM pragma_table_info('{one.table}') WHERE name = :column"
    return db.value(sql, column=one.column) is not None


def newest(db: Connection, one: Sealed, limit: int) -> list[bytes]:
    """The newest values of a column, of those that are among its newest rows."""
    order = ", ".join(f"{name} DESC" for name in one.key)
    rows = db.tuples(
        f"SELECT sealed FROM (SELECT {one.column} AS sealed FROM {one.table}"
        f" ORDER BY {order} LIMIT :most) AS w WHERE sealed IS NOT NULL LIMIT :limit",
        most=max(LOOKED_AT, limit),
        limit=limit,
    )
    return [row[0] for row in rows]


def check(db: Connection) -> None:
    """Unusable where nothing that is sealed opens: the key is another database's."""
    problem: Unusable | None = None
    for one in SEALED:
        for sealed in newest(db, one, TRIED):
            try:
                db.vault.open(sealed)
            except Unusable as error:
                problem = error
            else:
                return
    if problem is not None:
        raise problem
