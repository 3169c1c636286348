"""Accounts and their repositories, to which the rows of other tables refer."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from store import Connection
from store.repositories import repository_counts


def numbers(db: Connection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> list[int]:
    """Insert rows. Return their ids."""
    return [row[0] for row in db.insert_many(table, columns, [*rows], "RETURNING id")]


def team_ids(db: Connection, n: int) -> list[int]:
    """Take ids for `n` teams that no other team gets. Return them."""
    first = max(2**40, db.number("SELECT coalesce(max(id), 0) FROM team_id")) + 1
    return numbers(db, "team_id", "id", [(first + at,) for at in range(n)])


def people(db: Connection, n: int, kind: str = "User") -> list[int]:
    """Create `n` accounts. Return their ids."""
    first = db.value("SELECT max(id) FROM account") + 1
    rows = ((f"p{at}", f"p{at}", kind, db.now, db.now) for at in range(first, first + n))
    return numbers(db, "account", "login, login_key, kind, created_at, updated_at", rows)


def repositories(db: Connection, owner_ids: Iterable[int]) -> list[int]:
    """Create a repository for each of the owners. Return the ids."""
    first, owners = db.value("SELECT max(id) FROM repository") + 1, [*owner_ids]
    rows = (
        (owner_id, f"r{at}", f"r{at}", db.now, db.now) for at, owner_id in enumerate(owners, first)
    )
    repository_counts.add(db, Counter((owner_id, 0) for owner_id in owners))
    return numbers(db, "repository", "owner_id, name, name_key, created_at, updated_at", rows)
