"""Pages of lists, and how long the lists are."""

from typing import Any

from store.database.connection import Connection, Row


def page(db: Connection, query: str, limit: int, offset: int, **parameters: Any) -> list[Row]:
    """Return up to `limit` rows of an ordered query, after its first `offset` rows."""
    return db.all(f"{query} LIMIT :limit OFFSET :offset", limit=limit, offset=offset, **parameters)


def count(db: Connection, query: str, most: int, **parameters: Any) -> int:
    """Return how many rows a query has, counted up to `most`.

    The query need not have the columns, the order or the joins of the list itself.
    """
    total: int = db.value(
        f"SELECT count(*) FROM ({query} LIMIT :most) AS counted", most=most, **parameters
    )
    return total
