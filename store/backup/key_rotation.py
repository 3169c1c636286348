"""Key rotation: every stored secret is encrypted again with the current key, in batches."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from store.database.connection import Connection, Row
from store.database.encrypted_columns import ENCRYPTED_COLUMNS, EncryptedColumn
from store.database.store import Store
from store.errors import Unavailable, Unusable

# Values in one transaction. Other writes wait that long at most.
PORTION = 200
# In seconds, for an open transaction. The engine ends idle ones earlier.
LONGEST = 120
# Parameter names for the columns of a key.
NAMES = ("ka", "kb", "kc", "kd")


@dataclass(slots=True)
class RotationResult:
    """Counts of the values that were examined."""

    examined: int = 0
    many: int = 0
    closed: int = 0
    """Values that no key can decrypt. They stay as they are."""

    def add(self, other: "RotationResult") -> None:
        self.examined += other.examined
        self.many += other.many
        self.closed += other.closed


def rotate_secrets(store: Store) -> Iterator[tuple[EncryptedColumn, RotationResult]]:
    """Encrypt again what is not encrypted with the first key. Yield each column when it is done.

    It can be interrupted and started again. Transactions that began before the first key was
    installed are waited for.
    """
    for one in ENCRYPTED_COLUMNS:
        _outlast_writers(store, one)
        total = RotationResult()
        after: Sequence[Any] | None = ()
        while after is not None:
            after, done = store.write_sync(rotate_portion, one, after)
            total.add(done)
        yield one, total


def _outlast_writers(store: Store, one: EncryptedColumn) -> None:
    """Wait for transactions that may have encrypted values with an older key."""
    ends = time.monotonic() + LONGEST
    writers = store.read_sync(_writers, one)
    while writers & store.read_sync(_writers, one):
        if time.monotonic() > ends:
            raise Unavailable(
                f"a transaction has been writing to {one.table} for {LONGEST} seconds"
            )
        time.sleep(0.05)


def _writers(db: Connection, one: EncryptedColumn) -> frozenset[str]:
    return db.writers(one.table)


def rotate_portion(
    db: Connection, one: EncryptedColumn, after: Sequence[Any]
) -> tuple[tuple[Any, ...] | None, RotationResult]:
    """Process the next values. Return the key after which to continue, or None at the end."""
    rows = read_portion(db, one, after)
    done = RotationResult(len(rows))
    for row in rows:
        if db.vault.sealed_with_current_key(row["sealed"]):
            continue
        try:
            done.many += _replace(db, one, row, db.vault.open(row["sealed"]))
        except Unusable:
            done.closed += 1
    last = tuple(rows[-1][name] for name in one.key) if len(rows) == PORTION else None
    return last, done


def read_portion(db: Connection, one: EncryptedColumn, after: Sequence[Any]) -> list[Row]:
    """Return the next sealed values of a column with the keys of their rows."""
    key = ", ".join(one.key)
    given = dict(zip(NAMES, after, strict=False))
    beyond = f"AND ({key}) > ({', '.join(f':{name}' for name in given)})" if after else ""
    return db.all(
        f"SELECT {key}, {one.column} AS sealed FROM {one.table}"
        f" WHERE {one.column} IS NOT NULL {beyond} ORDER BY {key} LIMIT {PORTION}",
        **given,
    )


def _replace(db: Connection, one: EncryptedColumn, row: Row, text: str) -> int:
    where = " AND ".join(f"{name} = :{at}" for name, at in zip(one.key, NAMES, strict=False))
    # If the value has changed since it was read, it is encrypted with the current key already.
    return db.execute(
        f"UPDATE {one.table} SET {one.column} = :sealed WHERE {where} AND {one.column} = :before",
        sealed=db.vault.seal(text),
        before=row["sealed"],
        **{at: row[name] for name, at in zip(one.key, NAMES, strict=False)},
    )
