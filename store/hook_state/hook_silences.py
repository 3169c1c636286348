"""Silences of hooks: a silenced hook begins no alert, and its problems are muted, for a time.

Its deliveries go on. In contrast, the deliveries of a paused hook wait.
"""

from collections.abc import Iterable

from store.database import row_lookup, upsert
from store.database.connection import Connection, Row

SILENCED = "(SELECT s.hook_id FROM hook_silence s WHERE s.ends_at > :now)"
"""The ids of silenced hooks, as SQL."""


def silence(db: Connection, hook_ids: Iterable[int], until: int, login: str) -> None:
    """Silence hooks until a time, in microseconds, whatever silence they had before."""
    for hook_id in sorted(hook_ids):
        values = {"hook_id": hook_id, "ends_at": until, "silenced_by": login}
        upsert.insert_or_replace(db, "hook_silence", values, "hook_id")


def end(db: Connection, hook_ids: Iterable[int]) -> None:
    """End the silences of hooks. If an alert is due by now, the next pass opens it."""
    db.delete_many("hook_silence", "hook_id", sorted(hook_ids))


def active(db: Connection, hook_ids: Iterable[int]) -> dict[int, Row]:
    """Return the silences of hooks by the hooks' ids, each with `ends_at` and `silenced_by`."""
    columns = "s.hook_id, s.ends_at, s.silenced_by"
    query = f"SELECT {columns} FROM hook_silence s WHERE s.ends_at > :now AND s.hook_id"
    return row_lookup.by_id(db, query, hook_ids, column="hook_id")
