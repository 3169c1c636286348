"""The accounts that have starred a repository, as far as events name them."""

from store.accounts import accounts
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, prefixed


def put(db: Connection, repo_id: int, account_id: int, starred_at: int) -> None:
    """Record that an account has starred a repository. A star that is known stays."""
    db.execute(
        "INSERT INTO star (repo_id, account_id, starred_at)"
        " VALUES (:repo_id, :account_id, :starred_at) ON CONFLICT DO NOTHING",
        repo_id=repo_id,
        account_id=account_id,
        starred_at=starred_at,
    )


def remove(db: Connection, repo_id: int, account_id: int) -> None:
    """Record that an account has no star on a repository."""
    db.execute(
        "DELETE FROM star WHERE repo_id = :repo_id AND account_id = :account_id",
        repo_id=repo_id,
        account_id=account_id,
    )


def page(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return the accounts that have starred a repository with `starred_at`, the first first."""
    columns = prefixed("a", accounts.COLUMNS)
    return paging.page(
        db,
        f"SELECT {columns}, s.starred_at FROM star s JOIN account a ON a.id = s.account_id"
        " WHERE s.repo_id = :repo_id ORDER BY s.starred_at, s.account_id",
        limit,
        offset,
        repo_id=repo_id,
    )


def count(db: Connection, repo_id: int, most: int = ENDLESS) -> int:
    """Return how many accounts `page` can return, counted up to `most`."""
    return paging.count(
        db, "SELECT 1 AS one FROM star WHERE repo_id = :repo_id", most, repo_id=repo_id
    )
