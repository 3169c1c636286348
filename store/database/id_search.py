"""Searches that step through an index, so that they read few of many rows.

Rows are found by their time in tables whose ids grow with time, without an index of the time.
"""

from dataclasses import dataclass

from store.database.connection import Connection

# How many rows `id_before_older` looks at.
PROBES = 1_000


@dataclass(frozen=True, slots=True)
class RowTimes:
    """The rows of a table whose times are compared. All parts are SQL."""

    table: str
    time: str
    kept: str = "1 = 1"


def each_value(
    table: str, column: str, condition: str | None = None, above: int | None = None
) -> str:
    """Return `WITH RECURSIVE w`, which has each value of a column once, and NULL after the last.

    Only rows `x` that meet the condition count, and values above `above`. The cost grows with the
    values, and not with the rows, if an index has the column with the condition.
    """
    smallest = f"SELECT min(x.{column}) FROM {table} x WHERE "
    start = None if above is None else f"x.{column} > {above}"
    first = " AND ".join(filter(None, [condition, start])) or "1 = 1"
    following = " AND ".join(filter(None, [condition, f"x.{column} > w.{column}"]))
    return (
        f"WITH RECURSIVE w ({column}) AS ({smallest}{first}"
        f" UNION ALL SELECT ({smallest}{following}) FROM w WHERE w.{column} IS NOT NULL)"
    )


def first_id_since(db: Connection, table: str, time: str, at: int) -> int:
    """Return the lowest id of the rows whose time is `at` or later.

    `time` is SQL for the time of a row `e`. The search is binary, so the times must rise with the
    ids. If there is no such row, return an id above all others.
    """
    found = db.optional_number(
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


def id_before_older(db: Connection, times: RowTimes, after: int, at: int) -> int | None:
    """Return an id from `after` on that has rows earlier than `at` behind it. None: none is found.

    The times need not rise with the ids. It looks at up to PROBES rows, and the ids between two are
    an equal part of all ids behind `after`. So it misses a period only if that has fewer ids.
    """
    reached = after
    for row_id, time in _probe(db, times, after):
        if time < at:
            return reached
        reached = row_id
    return None


def _probe(db: Connection, times: RowTimes, after: int) -> list[tuple[int, int]]:
    """Return the ids and times of rows behind the id `after`, in the sequence of their ids."""
    rows = f"FROM {times.table} WHERE {times.kept}"
    span = (db.value(f"SELECT max(id) {rows}") or after) - after
    # Each row is searched from the one before it, so that a gap in the ids is passed only once.
    found = db.tuples(
        f"WITH RECURSIVE w (id) AS (SELECT min(id) {rows} AND id > :after"
        f" UNION ALL SELECT (SELECT min(id) {rows} AND id >= w.id + :part)"
        " FROM w WHERE w.id IS NOT NULL)"
        f" SELECT w.id, (SELECT {times.time} FROM {times.table} r WHERE r.id = w.id) FROM w"
        " WHERE w.id IS NOT NULL",
        after=after,
        part=span // PROBES + 1,
    )
    return sorted((row_id, time) for row_id, time in found)
