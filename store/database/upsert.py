"""Writing rows of which only some columns are known: those told are set, the others stay.

Table and column names are the program's own; they never come from outside.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from store.database.connection import Connection, Row, json_array


def insert_if_absent(
    db: Connection, table: str, values: Mapping[str, Any], unique: str
) -> int | None:
    """A new row's id; None where there is one already whose `unique` columns are the same."""
    made = db.insert_many(
        table,
        ", ".join(values),
        [tuple(values.values())],
        f"ON CONFLICT ({unique}) DO NOTHING RETURNING id",
    )
    return made[0][0] if made else None


def insert_with_number(
    db: Connection, table: str, repo_id: int, number: int, values: Mapping[str, Any]
) -> int | None:
    """A new row of a repository that people know by its number, open and without a title where
    `values` do not say otherwise; its id, None where there is one of this number already.
    """
    unsaid = {"title": "", "state": "open", "created_at": db.now, "updated_at": db.now}
    numbered = {"repo_id": repo_id, "number": number, **unsaid, **values}
    return insert_if_absent(db, table, numbered, "repo_id, number")


def insert_or_replace(db: Connection, table: str, values: Mapping[str, Any], unique: str) -> None:
    """A row, in the place of the one whose `unique` columns are the same."""
    keys = unique.split(", ")
    rest = ", ".join(f"{column} = excluded.{column}" for column in values if column not in keys)
    db.insert_many(
        table,
        ", ".join(values),
        [tuple(values.values())],
        f"ON CONFLICT ({unique}) DO UPDATE SET {rest}",
    )


def update(db: Connection, table: str, row: Row, values: Mapping[str, Any]) -> bool:
    """Set those of these columns that the row, found by its `id`, has otherwise; whether any.

    A row with `updated_at` was changed now, unless it is said when.
    """
    changed = {column: value for column, value in values.items() if row[column] != value}
    if changed and "updated_at" in row.keys() - values.keys():
        changed["updated_at"] = db.now
    if changed:
        db.execute(
            f"UPDATE {table} SET {', '.join(f'{column} = :{column}' for column in changed)}"
            " WHERE id = :row_id",
            **changed,
            row_id=row["id"],
        )
    return bool(changed)


def set_related(
    db: Connection, table: str, columns: tuple[str, str], of: int, wanted: Iterable[int]
) -> bool:
    """Make the rows (`of`, each of `wanted`) of a table of two columns all that it has of `of`;
    whether that changes anything.
    """
    left, right = columns
    rows = db.tuples(f"SELECT {right} FROM {table} WHERE {left} = :of", of=of)
    before, after = {row[0] for row in rows}, set(wanted)
    if gone := before - after:
        db.execute(
            f"DELETE FROM {table} WHERE {left} = :of AND {right} IN"
            f" (SELECT id FROM {db.each('gone', id='integer')} AS g)",
            of=of,
            gone=json_array(gone),
        )
    if new := after - before:
        db.insert_many(
            table,
            f"{left}, {right}",
            [(of, each) for each in sorted(new)],
            f"ON CONFLICT ({left}, {right}) DO NOTHING",
        )
    return before != after


def is_outdated(before: Row | None, fields: Mapping[str, Any]) -> bool:
    """Whether what is told is older (`told_at`) than what is kept."""
    told, kept = fields.get("told_at"), before and before["told_at"]
    return told is not None and kept is not None and told < kept
