"""Finding rows by their time in tables whose ids grow with time, without an index of the time."""

from store.database.connection import Connection


def first_id_since(db: Connection, table: str, time: str, at: int) -> int:
    """Return the lowest id of the rows whose time is `at` or later.

    `time` is SQL for the time of a row `e`. The search is binary, so the times must rise with the
    ids. If there is no such row, return an id above all others.
    """
    found: int | None = db.value(
        "WITH RECURSIVE part (low, high) AS ("
        f" SELECT (SELECT min(id) FROM {table}), (SELECT max(id) + 1 FROM {table})"
        f" UNION ALL SELECT CASE WHEN {time} < :at THEN e.id + 1 ELSE p.low END,"
        f" CASE WHEN {time} < :at THEN p.high ELSE (p.low + p.high) / 2 END"
        f" FROM part p JOIN {table} e"
        f" ON e.id = (SELECT min(x.id) FROM {table} x WHERE x.id >= (p.low + p.high) / 2)"
        " WHERE p.low < p.high) SELECT low FROM part WHERE low >= high",
        at=at,
    )
    return found or 1
