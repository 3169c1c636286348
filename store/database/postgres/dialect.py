"""The SQL that PostgreSQL writes differently from other engines."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from store.database.postgres.errors import Raw

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
TYPES = {"integer": "bigint", "text": "text"}
# The transactions that write to a table. Each holds this lock from before it gets an id for a row
# until it ends.
_WRITING = (
    "FROM pg_locks l {join} WHERE l.locktype = 'relation'"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.relation = to_regclass(:name) AND l.mode = 'RowExclusiveLock' AND l.granted"
    " AND l.pid IS DISTINCT FROM pg_backend_pid()"
)
WRITERS = f"SELECT DISTINCT l.virtualtransaction {_WRITING.format(join='')}"
# The oldest of them, in microseconds. The server hides the times of other users' transactions.
OLDEST_WRITER = (
    "SELECT max(CAST(1000000 * coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)"
    f" AS bigint)) {_WRITING.format(join='LEFT JOIN pg_stat_activity a ON a.pid = l.pid')}"
)


@lru_cache(maxsize=512)
def to_pyformat(sql: str) -> str:
    """Translate `:name` parameters into the driver's form."""
    return PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


def json_rows(parameter: str, columns: dict[str, str]) -> str:
    """Return SQL for a derived table over the items of a JSON array."""
    items = f"json_array_elements(CAST(:{parameter} AS json)) AS items (item)"
    single = len(columns) == 1
    members = ", ".join(
        f"CAST(item {_at(at, single)} AS {TYPES[kind]}) AS {name}"
        for at, (name, kind) in enumerate(columns.items())
    )
    return f"(SELECT {members} FROM {items})"


def _at(at: int, single: bool) -> str:
    return "#>> '{}'" if single else f"->> {at}"


def copy_rows(raw: Raw, sql: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a `COPY ... FROM STDIN` with these rows."""
    with raw.cursor() as cursor, cursor.copy(sql) as copy:
        for row in rows:
            copy.write_row(row)
