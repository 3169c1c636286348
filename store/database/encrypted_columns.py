"""The columns with values that the vault has encrypted.

This is the only list of them: key rotation and every other operation on stored secrets use it. A
new column must be added here. A test finds missing ones.
"""

from dataclasses import dataclass

from store.database.connection import Connection
from store.errors import Unusable


@dataclass(frozen=True, slots=True)
class EncryptedColumn:
    """A column of encrypted values (or NULL), in a table with this primary key."""

    table: str
    column: str
    key: tuple[str, ...] = ("id",)

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


ENCRYPTED_COLUMNS = (
    EncryptedColumn("audit_chain", "secret"),
    EncryptedColumn("devenv_key", "private_key", ("repo_id",)),
    EncryptedColumn("devenv_secret", "value", ("repo_id", "name")),
    EncryptedColumn("hook", "option_secrets"),
    EncryptedColumn("hook", "previous_secret"),
    EncryptedColumn("hook", "secret"),
    EncryptedColumn("one_time", "secret", ("account_id",)),
    EncryptedColumn("signing_key", "private"),
    EncryptedColumn("source", "secret"),
    EncryptedColumn("source_import", "password", ("repo_id",)),
    EncryptedColumn("websub", "secret"),
    EncryptedColumn("websub_request", "secret"),
    EncryptedColumn("websub_request", "verify_token"),
)
# Columns of bytes that are not secret.
PLAIN = frozenset(
    {
        ("audit", "digest"),
        ("concurrency_group", "name_key"),
        ("concurrency_use", "name_key"),
        ("event", "body"),
        ("event", "digest"),
        ("license_file", "content"),
        ("report_part", "content"),
        ("text_slice", "slices"),
    }
)
# How many rows are searched for the newest values, so that a long table without any is cheap.
LOOKED_AT = 100
# Values tried in each column, so that one damaged value does not decide alone.
TRIED = 5


def has_secrets(db: Connection) -> bool:
    return any(
        db.exists(f"SELECT 1 FROM {one.table} WHERE {one.column} IS NOT NULL LIMIT 1")
        for one in ENCRYPTED_COLUMNS
    )


def has_column(db: Connection, one: EncryptedColumn) -> bool:
    """Return whether a SQLite database, which may be older than this program, has the column."""
    sql = f"SELECT 1 FROM pragma_table_info('{one.table}') WHERE name = :column"
    return db.exists(sql, column=one.column)


def newest_values(db: Connection, one: EncryptedColumn, limit: int) -> list[bytes]:
    """Return the newest values of a column, searched for in its newest rows."""
    order = ", ".join(f"{name} DESC" for name in one.key)
    return db.column(
        f"SELECT sealed FROM (SELECT {one.column} AS sealed FROM {one.table}"
        f" ORDER BY {order} LIMIT :most) AS w WHERE sealed IS NOT NULL LIMIT :limit",
        most=max(LOOKED_AT, limit),
        limit=limit,
    )


def verify_key(db: Connection) -> None:
    """Raise Unusable if no stored value can be decrypted: the vault has another database's key."""
    problem: Unusable | None = None
    for one in ENCRYPTED_COLUMNS:
        for sealed in newest_values(db, one, TRIED):
            try:
                db.vault.open(sealed)
            except Unusable as error:
                problem = error
            else:
                return
    if problem is not None:
        raise problem
