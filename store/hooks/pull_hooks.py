"""The pull hooks among hooks."""

from collections.abc import Iterable

from store.database.connection import Connection, json_array


def among(db: Connection, hook_ids: Iterable[int]) -> list[int]:
    return db.column(
        "SELECT h.id FROM hook h WHERE h.pull = 1 AND h.id IN"
        f" (SELECT id FROM {db.each('hooks', id='integer')} AS w) ORDER BY h.id",
        hooks=json_array(hook_ids),
    )
