"""The pull hooks among hooks."""

from collections.abc import Iterable

from store.database.connection import Connection, json_array


def among(db: Connection, hook_ids: Iterable[int]) -> list[int]:
    return db.column(
        f"SELECT h.id FROM hook h WHERE h.pull = 1 AND h.id {db.among('hooks')} ORDER BY h.id",
        hooks=json_array(hook_ids),
    )
