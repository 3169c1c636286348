"""Lists of a table's rows in the order of their ids, newest first."""

from typing import Any

from store.database.connection import Connection, Row, json_array
from store.database.list_order import Matches, matches_of
from store.database.time_range import TimeRange


class NewestRows:
    """The rows of a table from a range of time that meet all conditions.

    `times` limits `created_at`, which rises with the ids. The ids are below `before`. Queries call
    the table `alias`.
    """

    def __init__(
        self,
        db: Connection,
        table: str,
        times: TimeRange,
        before: int | None = None,
        *,
        alias: str = "x",
    ) -> None:
        self._db, self._table, self._alias = db, table, alias
        self._where, self._given = times.page(db, table, "created_at", before, alias)

    def meeting(self, condition: str, **given: Any) -> "NewestRows":
        """Add a condition with its parameters. Return this object."""
        self._where.append(condition)
        self._given |= given
        return self

    def in_repositories(self, repo_ids: list[int] | None) -> "NewestRows":
        """Limit the rows to these repositories, and return this object. None sets no limit."""
        if repo_ids is None:
            return self
        chosen = f"{self._alias}.repo_id {self._db.among('repos')}"
        return self.meeting(chosen, repos=json_array(repo_ids))

    def page(self, select: str, limit: int) -> list[Row]:
        """Return the newest `limit` rows. `select` is the query up to its conditions."""
        order = f"ORDER BY {self._alias}.id DESC LIMIT :limit"
        return self._db.all(f"{select} {self._condition} {order}", limit=limit, **self._given)

    def count(self, source: str = "") -> Matches:
        """Return the number of the rows.

        If conditions name other tables, `source` is the FROM clause that joins them.
        """
        source = source or f"FROM {self._table} {self._alias}"
        query = f"SELECT {self._alias}.id {source} {self._condition}"
        return matches_of(self._db, query, **self._given)

    @property
    def _condition(self) -> str:
        return f"WHERE {' AND '.join(self._where) or '1 = 1'}"
