"""The shared part of a migration's two sides: tables, and checksums of rows.

A row is a tuple of types that both engines return alike: int, float, str, bytes, None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Any

from store.database.connection import Connection
from store.database.notifications import StoreNotifier
from store.errors import Conflict

Values = tuple[Any, ...]

MASK = (1 << 128) - 1
# Tables that are not copied, and the reasons.
STAYS = {
    "migration": "each side records the steps that made it",
    "server_history": "the target is another server",
    "text_portion": "the worker indexes the texts again",
    "text_slice": "the worker indexes the texts again",
    "moving": "the progress of the move, which does not belong to the installation",
}
# Prefixes of the migration's own tables and of SQLite's.
STAYING = ("moving_", "sqlite_")


class Collision(Conflict):
    """Two rows have the same unique value, because they changed while they were read."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The columns of its key come first in `columns`.

    Rows are found by the key's first column alone. In nearly all tables that is the whole key. In
    the others it identifies a group of rows that are copied together.
    """

    name: str
    columns: tuple[str, ...]
    width: int
    """The number of columns of the key."""
    textual: bool
    """Whether the key's first column is text."""

    @property
    def first(self) -> str:
        return f'"{self.columns[0]}"'

    @property
    def listed(self) -> str:
        return quoted(self.columns)

    @property
    def order(self) -> str:
        return quoted(self.columns[: self.width])

    @property
    def has_integer_key(self) -> bool:
        """Return whether the key is one number, which may be generated."""
        return self.width == 1 and not self.textual


def no_notifier() -> StoreNotifier:
    """Raise AssertionError: a mover has no work to announce."""
    raise AssertionError("a mover notifies no worker")


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def tables_of(db: Connection) -> list[Table]:
    """Return the tables of a SQLite database that are copied, by name."""
    columns = db.tuples(
        "SELECT m.name, c.name, c.type, c.pk"
        " FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
        " WHERE m.type = 'table' ORDER BY m.name, c.cid"
    )
    by_name = groupby(columns, key=lambda column: str(column[0]))
    return [_table(name, [*found]) for name, found in by_name if is_copied(name)]


def is_copied(name: str) -> bool:
    return name not in STAYS and not name.startswith(STAYING)


def _table(name: str, columns: list[Values]) -> Table:
    key = sorted((column for column in columns if column[3]), key=lambda column: column[3])
    rest = [column for column in columns if not column[3]]
    ordered = tuple(column[1] for column in [*key, *rest])
    return Table(name, ordered, len(key), "INT" not in key[0][2].upper())


def by_key(table: Table, rows: Iterable[Values]) -> dict[Values, Values]:
    return {row[: table.width]: row for row in rows}


def differing(table: Table, ours: Sequence[Values], theirs: Sequence[Values]) -> set[Any]:
    """Return the first key columns of rows that differ."""
    mine, other = by_key(table, ours), by_key(table, theirs)
    if mine == other:
        return set()
    return {key[0] for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)}


def checksum(rows: Iterable[Values]) -> int:
    """Return a checksum of 128 bits that depends on neither the rows' order nor the engine.

    The checksums of parts of a table add up to the whole table's, modulo 2**128.
    """
    return sum(int.from_bytes(_digest(row)) for row in rows) & MASK


def _digest(row: Values) -> bytes:
    # The repr of bytes would be four times as long.
    short = [blake2b(value).digest() if isinstance(value, bytes) else value for value in row]
    return blake2b(repr(short).encode(), digest_size=16).digest()
