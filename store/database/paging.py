"""Pages of lists, and how long the lists are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from store.database.connection import ENDLESS, Connection, Row

# A list of up to so many rows is sorted. For a page of a longer one, so many rows of the table are
# examined in its order first, because these mostly fill the page.
SORTED = 1_000


PARAMETER = re.compile(r":(\w+)")


def conditions(wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the conditions that have a value, as SQL, and their parameters.

    `wanted` is SQL to the value of its parameter. None and False leave a condition out. With True,
    it has no parameter, or the caller has its value.
    """
    chosen = [sql for sql, value in wanted.items() if value is not None and value is not False]
    valued = [sql for sql in chosen if wanted[sql] is not True]
    given = {name: wanted[sql] for sql in valued for name in PARAMETER.findall(sql)}
    return " AND ".join(chosen) or "1 = 1", given


def page(db: Connection, query: str, limit: int, offset: int, **parameters: Any) -> list[Row]:
    """Return up to `limit` rows of an ordered query, after its first `offset` rows."""
    return db.all(f"{query} LIMIT :limit OFFSET :offset", limit=limit, offset=offset, **parameters)


def count(db: Connection, query: str, most: int, **parameters: Any) -> int:
    """Return how many rows a query has, counted up to `most`.

    The query need not have the columns, the order or the joins of the list itself.
    """
    if most >= ENDLESS:
        return db.number(f"SELECT count(*) FROM ({query}) AS counted", **parameters)
    limited = f"SELECT count(*) FROM ({query} LIMIT :most) AS counted"
    return db.number(limited, most=most, **parameters)


@dataclass(frozen=True, slots=True)
class ListedRows:
    """The rows of a table that are in a list, such as the accounts that are in a team.

    Their order is by `key`, which differs from row to row and has an index. `listed` is SQL that
    selects, as `id`, the values that `column` has in the list. All rows meet the condition
    `within`.
    """

    table: str
    alias: str
    key: str
    column: str
    listed: str
    within: str = "1 = 1"

    def sorted(self) -> str:
        """Return SQL for their ids, which finds all of the list and sorts it."""
        return self._ids(f"{self.column} IN (SELECT h.id FROM ({self.listed}) AS h)")

    def first(self) -> str:
        """Return SQL for their ids, which examines the first rows of the table in their order."""
        last = (
            f"SELECT {self.key} FROM {self.table} {self.alias} WHERE {self.within}"
            f" ORDER BY {self.key} LIMIT 1 OFFSET {SORTED}"
        )
        held = f"EXISTS (SELECT 1 FROM ({self.listed}) AS h WHERE h.id = {self.column})"
        return self._ids(f"{self.key} < ({last}) AND {held}")

    def _ids(self, condition: str) -> str:
        return (
            f"SELECT {self.alias}.id FROM {self.table} {self.alias}"
            f" WHERE {self.within} AND {condition} ORDER BY {self.key}"
        )


def listed_page(
    db: Connection,
    select: str,
    rows: ListedRows,
    *,
    total: int,
    limit: int,
    offset: int,
    **parameters: Any,
) -> list[Row]:
    """Return a page of a list. `select` begins the statement that reads its rows by their ids.

    `total` is how many rows the list has, or at least has if that is more than SORTED.
    """
    given = {"limit": limit, "offset": offset, **parameters}
    if total > SORTED and offset + limit <= SORTED:
        found = db.all(_by_ids(select, rows, rows.first()), **given)
        if len(found) == limit:
            return found
    return db.all(_by_ids(select, rows, rows.sorted()), **given)


def _by_ids(select: str, rows: ListedRows, ids: str) -> str:
    wanted = f"SELECT p.id FROM ({ids} LIMIT :limit OFFSET :offset) AS p"
    return f"{select} WHERE {rows.alias}.id IN ({wanted}) ORDER BY {rows.key}"
