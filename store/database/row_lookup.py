"""Rows by their ids."""

from collections.abc import Iterable

from store.database.connection import Connection, Row, json_array


def by_id(db: Connection, query: str, ids: Iterable[int]) -> dict[int, Row]:
    """Return the rows with these ids, by id. Unknown ids are left out.

    `query` selects a column `id`. It ends with the column that the ids are compared with, such as
    `... WHERE i.id`.
    """
    rows = db.all(
        f"{query} IN (SELECT w.wanted FROM {db.each('ids', wanted='integer')} AS w)",
        ids=json_array(set(ids)),
    )
    return {row["id"]: row for row in rows}
