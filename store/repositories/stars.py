"""The accounts that have starred a repository, as far as events name them."""

from store.accounts import accounts
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row


def put(
    db: Connection,
    repo_id: int,
    account_id: int,
    starred_at: int | None,
    reported_at: int | None = None,
) -> None:
    """Record that an account has starred a repository, or with None that it has no star there.

    `reported_at` is the platform's time of the report, if it is known. An older report changes
    nothing. A star that is known stays.
    """
    db.execute(
        "INSERT INTO star (repo_id, account_id, starred_at, reported_at)"
        " VALUES (:repo_id, :account_id, :starred_at, :reported_at)"
        " ON CONFLICT (repo_id, account_id) DO UPDATE SET starred_at = CASE WHEN"
        " excluded.starred_at IS NOT NULL THEN coalesce(star.starred_at, excluded.starred_at) END,"
        " reported_at = coalesce(excluded.reported_at, star.reported_at)"
        " WHERE coalesce(excluded.reported_at >= star.reported_at, 1 = 1)",
        repo_id=repo_id,
        account_id=account_id,
        starred_at=starred_at,
        reported_at=reported_at,
    )


def page(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return the accounts that have starred a repository with `starred_at`, the first first."""
    return paging.page(
        db,
        f"SELECT {accounts.OF_JOINED}, s.starred_at FROM star s"
        " JOIN account a ON a.id = s.account_id"
        " WHERE s.repo_id = :repo_id AND s.starred_at IS NOT NULL"
        " ORDER BY s.starred_at, s.account_id",
        limit,
        offset,
        repo_id=repo_id,
    )


def count(db: Connection, repo_id: int, most: int = ENDLESS) -> int:
    """Return how many accounts `page` can return, counted up to `most`."""
    return paging.count(
        db,
        "SELECT 1 AS one FROM star WHERE repo_id = :repo_id AND starred_at IS NOT NULL",
        most,
        repo_id=repo_id,
    )
