"""Watching and ignoring repositories, as people do for notifications. Stars are separate."""

from collections.abc import Iterable
from typing import Literal

from store.accounts import accounts
from store.accounts.viewers import RepositoryViewer, may_see
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.repositories import repositories

COLUMNS = "repo_id, account_id, subscribed, ignored, created_at"
WATCHED = (
    "JOIN watching w ON w.repo_id = r.id WHERE w.account_id = :account_id AND w.subscribed = 1"
)


def get(db: Connection, repo_id: int, account_id: int) -> Row | None:
    """Return the account's subscription (COLUMNS, flags as 0 or 1), or None."""
    return db.find(f"SELECT {COLUMNS} FROM watching", repo_id=repo_id, account_id=account_id)


Change = Literal["watched", "set", "ended", "nothing"]
"""`watched` means that watching began, `set` another change, and `ended` the deletion."""


def put(
    db: Connection, repo_id: int, account_id: int, *, subscribed: bool, ignored: bool
) -> tuple[Row, Change]:
    """Set the subscription. Return it, and what changed.

    A subscription that neither watches nor ignores is deleted.
    """
    _alone(db, repo_id, account_id)
    before = get(db, repo_id, account_id)
    watched_before = bool(before and before["subscribed"])
    row = {
        "repo_id": repo_id,
        "account_id": account_id,
        "subscribed": int(subscribed),
        "ignored": int(ignored),
        "created_at": before["created_at"] if before else db.now,
    }
    if not subscribed and not ignored:
        return row, "ended" if remove(db, repo_id, account_id) else "nothing"
    if row == before:
        return row, "nothing"
    db.execute(
        f"INSERT INTO watching ({COLUMNS})"
        " VALUES (:repo_id, :account_id, :subscribed, :ignored, :created_at)"
        " ON CONFLICT (repo_id, account_id) DO UPDATE SET"
        " subscribed = excluded.subscribed, ignored = excluded.ignored",
        **row,
    )
    _count(db, repo_id, int(subscribed) - int(watched_before))
    return row, "watched" if subscribed and not watched_before else "set"


def _alone(db: Connection, repo_id: int, account_id: int) -> None:
    # The number of watchers changes by what the transaction has read.
    db.alone(f"watching {repo_id} {account_id}")


def remove(db: Connection, repo_id: int, account_id: int) -> bool:
    """Delete the subscription. Return False if there is none."""
    _alone(db, repo_id, account_id)
    ended = db.column(
        "DELETE FROM watching WHERE repo_id = :repo_id AND account_id = :account_id"
        " RETURNING subscribed",
        repo_id=repo_id,
        account_id=account_id,
    )
    _count(db, repo_id, -sum(ended))
    return bool(ended)


def forget(db: Connection, account_id: int) -> None:
    """Delete all subscriptions of an account before the account is deleted.

    Deleting the account alone would leave the counts of watchers wrong.
    """
    db.execute(
        "UPDATE repository SET watchers = watchers - 1 WHERE id IN"
        " (SELECT repo_id FROM watching WHERE account_id = :account_id AND subscribed = 1)",
        account_id=account_id,
    )
    db.delete("watching", account_id=account_id)


def _count(db: Connection, repo_id: int, more: int) -> None:
    if more:
        db.execute(
            "UPDATE repository SET watchers = watchers + :more WHERE id = :id",
            more=more,
            id=repo_id,
        )


def watchers(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return the accounts that watch a repository, longest first."""
    return paging.page(
        db,
        f"SELECT {accounts.OF_JOINED} FROM watching w JOIN account a ON a.id = w.account_id"
        " WHERE w.repo_id = :repo_id AND w.subscribed = 1"
        " ORDER BY w.created_at, w.account_id",
        limit,
        offset,
        repo_id=repo_id,
    )


def settings(db: Connection, repo_id: int) -> dict[str, str]:
    """Return login to `watching` or `ignoring`, by login."""
    return db.mapping(
        "SELECT a.login, CASE WHEN w.ignored = 1 THEN 'ignoring' ELSE 'watching' END"
        " FROM watching w JOIN account a ON a.id = w.account_id"
        " WHERE w.repo_id = :repo_id ORDER BY a.login_key",
        repo_id=repo_id,
    )


def counts(db: Connection, repo_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return repository id to its numbers of watchers and of stars."""
    rows = db.tuples(
        "SELECT r.id, r.watchers, r.stars"
        f" FROM {db.each('ids', id='integer')} AS i JOIN repository r ON r.id = i.id",
        ids=json_array(repo_ids),
    )
    return {repo_id: (watching, stars) for repo_id, watching, stars in rows}


def set_stars(db: Connection, repo_id: int, stars: int) -> bool:
    """Set a repository's number of stars. Return False if nothing changes."""
    changed = db.execute(
        "UPDATE repository SET stars = :stars WHERE id = :id AND stars <> :stars",
        stars=stars,
        id=repo_id,
    )
    return changed > 0


def watched(
    db: Connection, account_id: int, viewer: RepositoryViewer, *, limit: int, offset: int
) -> list[Row]:
    """Return the repositories that an account watches and the viewer may see, longest first."""
    shown, given = may_see(db, viewer)
    return paging.page(
        db,
        f"{repositories.SELECT} {WATCHED} AND {shown} ORDER BY w.created_at, w.repo_id",
        limit,
        offset,
        account_id=account_id,
        **given,
    )


def count_watched(
    db: Connection, account_id: int, viewer: RepositoryViewer, most: int = ENDLESS
) -> int:
    """Return how many repositories `watched` can return, counted up to `most`."""
    shown, given = may_see(db, viewer)
    return paging.count(
        db,
        "SELECT 1 AS one FROM repository r"
        f" JOIN account a ON a.id = r.owner_id {WATCHED} AND {shown}",
        most,
        account_id=account_id,
        **given,
    )
