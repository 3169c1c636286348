"""What the two sides of a move have in common: the tables' shapes, and checksums of rows.

A row is a tuple of what both engines give alike: int, float, str, bytes, None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from store.database.connection import Connection
from store.database.notifications import WorkerNotifier
from store.errors import Conflict

Values = tuple[Any, ...]

MASK = (1 << 128) - 1
# What is not copied, and why.
STAYS = {
    "migration": "each side records the steps that made it",
    "moving": "how far the move is, which is nothing of the installation's",
}
# Of the same kind as `moving`, and what SQLite keeps for itself.
STAYING = ("moving_", "sqlite_")


class Collision(Conflict):
    """Two rows claim what one may have: they changed while they were read."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its key's columns come first in `columns`.

    Rows are found by the key's first column alone: that is the whole key of nearly all tables,
    and of the others it names a group of rows that move together.
    """

    name: str
    columns: tuple[str, ...]
    width: int
    """How many columns the key has."""
    textual: bool
    """Whether the first of them is text."""

    @property
    def first(self) -> str:
        return f'"{self.columns[0]}"'

    @property
    def listed(self) -> str:
        """The columns as SQL writes them."""
        return quoted(self.columns)

    @property
    def order(self) -> str:
        """The key as SQL writes it."""
        return quoted(self.columns[: self.width])

    @property
    def has_integer_key(self) -> bool:
        """Whether the key is one number, which may be generated."""
        return self.width == 1 and not self.textual


def no_notifier() -> WorkerNotifier:
    """Where a mover announces new work: there is none."""
    raise AssertionError("a mover announces nothing")


def quoted(names: Iterable[str]) -> str:
    """Names as a list in SQL."""
    return ", ".join(f'"{name}"' for name in names)


def tables_of(db: Connection) -> list[Table]:
    """The tables of a SQLite database that are moved, by name."""
    names = db.tuples("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [_table(db, name) for (name,) in names if is_copied(name)]


def is_copied(name: str) -> bool:
    """Whether a table of this name is moved: all are but those that are named above."""
    return name not in STAYS and not name.startswith(STAYING)


def _table(db: Connection, name: str) -> Table:
    columns = db.tuples(f"SELECT name, type, pk FROM pragma_table_info('{name}') ORDER BY cid")
    key = sorted((column for column in columns if column[2]), key=lambda column: column[2])
    rest = [column for column in columns if not column[2]]
    ordered = tuple(column[0] for column in [*key, *rest])
    return Table(name, ordered, len(key), "INT" not in key[0][1].upper())


def by_key(table: Table, rows: Iterable[Values]) -> dict[Values, Values]:
    """Rows by their keys."""
    return {row[: table.width]: row for row in rows}


def differing(table: Table, ours: Sequence[Values], theirs: Sequence[Values]) -> set[Any]:
    """The first key columns of rows that are not alike in both."""
    mine, other = by_key(table, ours), by_key(table, theirs)
    if mine == other:
        return set()
    return {key[0] for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)}


def checksum(rows: Iterable[Values]) -> int:
    """A number of 128 bits that says what the rows hold, whatever their order and their engine.

    The checksums of parts of a table add up to that of the table, modulo 2**128.
    """
    return sum(int.from_bytes(_digest(row)) for row in rows) & MASK


def _digest(row: Values) -> bytes:
    # Bytes would be written out four times as long.
    short = [blake2b(value).digest() if isinstance(value, bytes) else value for value in row]
    return blake2b(repr(short).encode(), digest_size=16).digest()
