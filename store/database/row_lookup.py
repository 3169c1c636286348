"""Rows by their ids: how they are found, locked, and deleted by operations that report it."""

from collections.abc import Iterable

from store.database.connection import Connection, Row, json_array
from store.errors import Missing, existing


def by_id(db: Connection, query: str, ids: Iterable[int], *, column: str = "id") -> dict[int, Row]:
    """Return the rows with these ids, by id. Unknown ids are left out.

    `query` selects `column`, which has the ids. It ends with what they are compared with, such as
    `... WHERE i.id`.
    """
    rows = db.all(
        f"{query} {db.among('ids')}",
        ids=json_array(set(ids)),
    )
    return {row[column]: row for row in rows}


def lock(db: Connection, table: str, columns: str, row: Row, noun: str) -> Row:
    """Lock a row until the transaction ends. Return it as it is now.

    Raises Missing if it is gone. `noun` names it in the message. The names of the table and its
    columns come from the program, never from outside.
    """
    return existing(
        db.one(f"SELECT {columns} FROM {table} WHERE id = :id{db.for_change}", id=row["id"]), noun
    )


def delete(db: Connection, table: str, row: Row, noun: str) -> None:
    """Delete a row. Raises Missing if it is gone. `noun` names it in the message.

    Two hubs may have read the same row. Only one of them deletes it, so a deletion counts once and
    makes one event. The table's name comes from the program, never from outside.
    """
    if not db.delete(table, id=row["id"]):
        raise Missing(noun)
