"""Partial writes of rows: the given columns are set, the others stay.

Table and column names come from the program, never from outside.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from store.clock import DAY
from store.database.connection import Connection, Row, json_array

Key = tuple[Any, ...]
CountChange = tuple[tuple[str, str, str], dict[Key, int]]
"""A table of counts with its keys and its column, and what to add."""
REPORTED = "reported_at"
"""The column with a platform's time of its last report. One from a wrong clock is not stored."""


def insert_if_absent(
    db: Connection, table: str, values: Mapping[str, Any], unique: str
) -> int | None:
    """Insert a row. Return its id, or None if a row with the same `unique` columns exists."""
    values = believed(db, values, REPORTED)
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
    """Insert a row that has a number in its repository, such as an issue. Return its id.

    Return None if the repository has a row with this number. By default it is open and has no
    title.
    """
    unsaid = {"title": "", "state": "open", "created_at": db.now, "updated_at": db.now}
    numbered = {"repo_id": repo_id, "number": number, **unsaid, **values}
    return insert_if_absent(db, table, numbered, "repo_id, number")


def insert_or_replace(db: Connection, table: str, values: Mapping[str, Any], unique: str) -> None:
    """Insert a row, or update the row with the same `unique` columns."""
    values = believed(db, values, REPORTED)
    keys = unique.split(", ")
    rest = ", ".join(f"{column} = excluded.{column}" for column in values if column not in keys)
    db.insert_many(
        table,
        ", ".join(values),
        [tuple(values.values())],
        f"ON CONFLICT ({unique}) DO UPDATE SET {rest}",
    )


def add_counts(
    db: Connection, table: str, keys: str, column: str, changes: Mapping[Key, int]
) -> None:
    """Add to the stored counts in a column. `changes` has the values of the columns `keys`.

    Rows are locked in one order, so that writers do not block each other.
    """
    db.insert_many(
        table,
        f"{keys}, {column}",
        [(*key, by) for key, by in sorted(changes.items()) if by],
        f"ON CONFLICT ({keys}) DO UPDATE SET {column} = {table}.{column} + excluded.{column}",
    )


def count_at_commit(
    db: Connection, table: str, keys: str, column: str, changes: Mapping[Key, int]
) -> None:
    """Add to stored counts as `add_counts` does, at the end of the transaction.

    Writers of a busy repository all need the same row. If they locked it earlier, groups of writes
    would block each other, and deadlock. The first of `keys` is a repository or an account:
    `drop_counts` says if it is deleted later in the transaction.
    """
    added = {key: by for key, by in changes.items() if by}
    if added:
        db.before_commit(_add_all, ((table, keys, column), added))


def uncommitted(db: Connection, table: str) -> Counter[Key]:
    """Return what this transaction will add to the stored counts of a table."""
    found: Counter[Key] = Counter()
    for (counted, *_), changes in db.registered(_add_all):
        if counted == table:
            found.update(changes)
    return found


def drop_counts(db: Connection, owners: str, owner_id: int) -> None:
    """Let the counts go with a repository or an account that is deleted from the table `owners`."""
    db.before_commit(_add_all, ((owners, "", ""), {(owner_id,): 0}))


def _add_all(db: Connection, items: list[CountChange]) -> None:
    sums: dict[tuple[str, str, str], Counter[Key]] = {}
    for place, changes in items:
        sums.setdefault(place, Counter()).update(changes)
    for place in sorted(sums):
        _, keys, _ = place
        owners = "repository" if keys.startswith("repo_id") else "account"
        gone = sums.get((owners, "", ""), Counter())
        if keys:
            counted = {key: by for key, by in sums[place].items() if key[:1] not in gone}
            add_counts(db, *place, counted)


def update(db: Connection, table: str, row: Row, values: Mapping[str, Any]) -> bool:
    """Set the columns of a row, found by its `id`, that differ. Return whether any did.

    If the row has `updated_at` and `values` does not, it becomes the current time.
    """
    values = believed(db, values, REPORTED)
    changed = {column: value for column, value in values.items() if row[column] != value}
    if changed and "updated_at" in row.keys() - values.keys():
        changed["updated_at"] = db.now
    if changed:
        db.update(table, row["id"], **changed)
    return bool(changed)


def differs(row: Row, values: Mapping[str, Any]) -> bool:
    """Return whether a row has another value in any of these columns."""
    return any(row[column] != value for column, value in values.items())


def set_related(
    db: Connection,
    table: str,
    columns: tuple[str, str],
    of: int,
    wanted: Iterable[int],
    but: Collection[int] = (),
) -> bool:
    """Replace the rows of a two-column table for `of` by those with `wanted`.

    Items in `but` stay present or absent. Return whether any row changed.
    """
    left, right = columns
    before = set(db.column(f"SELECT {right} FROM {table} WHERE {left} = :of", of=of))
    after = {*wanted}.difference(but) | before.intersection(but)
    if gone := before - after:
        db.execute(
            f"DELETE FROM {table} WHERE {left} = :of AND {right} {db.among('gone')}",
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
    """Return whether the payload is older than the stored row, by `reported_at`."""
    given, kept = fields.get("reported_at"), before and before["reported_at"]
    return given is not None and kept is not None and given < kept


def believed(db: Connection, values: Mapping[str, Any], *times: str) -> Row:
    """Return the columns without any of `times` that is more than a day ahead.

    It comes from a wrong clock. If it counted, no report would change the row until then.
    """
    latest = db.now + DAY
    wrong = {time for time in times if (values.get(time) or 0) > latest}
    return {name: value for name, value in values.items() if name not in wrong}


def is_overtaken(
    before: Row | None, fields: Mapping[str, Any], event: Row, column: str = "changed_at"
) -> bool:
    """Return whether an operation changed the row after the state that an event reports.

    `column` has the time of the operation.
    """
    if before is None or before[column] is None:
        return False
    changed_at: int = before[column]
    return moment_of(fields, event) < changed_at


def moment_of(fields: Mapping[str, Any], event: Row) -> int:
    """Return the latest time at which a reported object can have had these columns.

    If the object has no time, it can be as late as the reception of the event.
    """
    moment: int = event["as_of"]
    return moment if "reported_at" in fields else max(moment, event["received_at"])
