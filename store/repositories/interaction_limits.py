"""Interaction limits: for a while, only some users may comment, open issues or pull requests.

A limit is for one repository, or for all repositories of an account. An expired limit counts as
deleted, whether its event has been sent yet or not.
"""

from collections.abc import Sequence
from typing import Any

from store.accounts import accounts
from store.clock import DAY, SECOND, months_later
from store.database.connection import Connection, Row, json_array
from store.database.patterns import containing
from store.database.time_range import ALWAYS, TimeRange
from store.errors import Conflict
from store.jobs import jobs
from store.repositories import author_association

# Expiry to days, or to calendar months.
DAYS = {"one_day": 1, "three_days": 3, "one_week": 7}
MONTHS = {"one_month": 1, "six_months": 6}
COLUMNS = "id, account_id, repo_id, allowed, created_at, expires_at"
OF_ITS_REPOSITORIES = "repo_id IN (SELECT r.id FROM repository r WHERE r.owner_id = :account_id)"
# The repository's owner/name, or the account.
SCOPE = "COALESCE(o.login_key || '/' || r.name_key, a.login_key)"


def ends_at(now: int, expiry: str) -> int:
    """Return when a limit ends that is set at `now`, in whole seconds as the API shows it."""
    end = now + DAYS[expiry] * DAY if expiry in DAYS else months_later(now, MONTHS[expiry])
    return end // SECOND * SECOND


def of_account(db: Connection, account_id: int) -> Row | None:
    """Return the limit for all of an account's repositories, or None."""
    return db.one(
        f"SELECT {COLUMNS} FROM interaction_limit"
        " WHERE account_id = :account_id AND expires_at > :now",
        account_id=account_id,
    )


def in_force(db: Connection, repo: Row) -> Row | None:
    """Return the limit that applies in a repository: its owner's, or else its own."""
    return of_account(db, repo["owner_id"]) or db.one(
        f"SELECT {COLUMNS} FROM interaction_limit WHERE repo_id = :repo_id AND expires_at > :now",
        repo_id=repo["id"],
    )


def ending_next(
    db: Connection,
    limit: int,
    repo_ids: Sequence[int] | None = None,
    *,
    text: str = "",
    times: TimeRange = ALWAYS,
) -> list[Row]:
    """Return the limits in force, earliest end first.

    `repo_ids` selects limits of these repositories and of their owners, `text` those whose scope
    contains it, and `times` when they were set. Each row has the `account` and its `kind`, or the
    `repository`.
    """
    chosen, given = _chosen(db, repo_ids, times)
    if text:
        chosen += f" AND {SCOPE} LIKE :text ESCAPE '!'"
        given["text"] = containing(text)
    return db.all(
        "SELECT l.id, l.account_id, l.repo_id, l.allowed, l.created_at, l.expires_at,"
        " a.login AS account, a.kind, o.login || '/' || r.name AS repository"
        " FROM interaction_limit l LEFT JOIN account a ON a.id = l.account_id"
        " LEFT JOIN repository r ON r.id = l.repo_id LEFT JOIN account o ON o.id = r.owner_id"
        f" WHERE l.expires_at > :now{chosen} ORDER BY l.expires_at, l.id LIMIT :limit",
        limit=limit,
        **given,
    )


def _chosen(
    db: Connection, repo_ids: Sequence[int] | None, times: TimeRange
) -> tuple[str, dict[str, Any]]:
    where, given = times.page(db, "interaction_limit", "created_at", None, alias="l")
    if repo_ids is not None:
        ids = db.among("repos")
        where.append(
            f"(l.repo_id {ids} OR l.account_id IN"
            f" (SELECT o.owner_id FROM repository o WHERE o.id {ids}))"
        )
        given["repos"] = json_array(repo_ids)
    return "".join(f" AND {one}" for one in where), given


def excludes(db: Connection, repo: Row, account_id: int) -> Row | None:
    """Return the limit that excludes an account from interacting in a repository, or None.

    Limits apply to public repositories only.
    """
    row = None if repo["private"] else in_force(db, repo)
    if row is None or author_association.association_of(db, repo, account_id) != "NONE":
        return None
    account = accounts.get(db, account_id)
    # A bot acts for an app that the owner has installed.
    if account is None or account["site_admin"] or account["kind"] == "Bot":
        return None
    if row["allowed"] == "existing_users" and account["created_at"] <= db.now - DAY:
        return None
    contributed = row["allowed"] != "collaborators_only" and _contributed(db, repo, account_id)
    return None if contributed else row


def _contributed(db: Connection, repo: Row, account_id: int) -> bool:
    """Return whether the repository has merged a pull request of this account."""
    return db.exists(
        "SELECT 1 FROM issue i JOIN pull p ON p.issue_id = i.id WHERE i.repo_id = :repo_id"
        " AND i.author_id = :account_id AND i.is_pull = 1 AND p.merged_at IS NOT NULL LIMIT 1",
        repo_id=repo["id"],
        account_id=account_id,
    )


def limit_account(
    db: Connection, account_id: int, allowed: str, ends: int
) -> tuple[Row, list[Row]]:
    """Limit all repositories of an account.

    Return the limit, and the limits of single repositories that it replaces.
    """
    _alone(db, account_id)
    _end(db, "account_id = :account_id", account_id=account_id)
    of_repositories = _end(db, OF_ITS_REPOSITORIES, account_id=account_id)
    return _begin(db, account_id, None, allowed, ends), of_repositories


def limit_repository(db: Connection, repo: Row, allowed: str, ends: int) -> Row:
    """Limit one repository. Raises Conflict if its owner has a limit."""
    _check_owner(db, repo)
    _end(db, "repo_id = :repo_id", repo_id=repo["id"])
    return _begin(db, None, repo["id"], allowed, ends)


def remove_account_limit(db: Connection, account_id: int) -> Row | None:
    """Delete an account's limit. Return None if there is none."""
    _alone(db, account_id)
    return next(iter(_end(db, "account_id = :account_id", account_id=account_id)), None)


def remove_repository_limit(db: Connection, repo: Row) -> Row | None:
    """Delete a repository's limit. Return None if there is none.

    Raises Conflict if its owner has a limit.
    """
    _check_owner(db, repo)
    return next(iter(_end(db, "repo_id = :repo_id", repo_id=repo["id"])), None)


def _alone(db: Connection, owner_id: int) -> None:
    # Transactions that limit a repository and its owner must see each other.
    db.alone(f"interaction limits of {owner_id}")


def _check_owner(db: Connection, repo: Row) -> None:
    _alone(db, repo["owner_id"])
    if of_account(db, repo["owner_id"]) is not None:
        kind = repo["owner_kind"].lower()
        raise Conflict(f"The {kind} that owns this repository has an interaction limit.")


def _begin(
    db: Connection, account_id: int | None, repo_id: int | None, allowed: str, ends: int
) -> Row:
    row = db.required(
        "INSERT INTO interaction_limit (account_id, repo_id, allowed, created_at, expires_at)"
        f" VALUES (:account_id, :repo_id, :allowed, :now, :ends) RETURNING {COLUMNS}",
        account_id=account_id,
        repo_id=repo_id,
        allowed=allowed,
        ends=ends,
    )
    jobs.notify_worker(db)
    return row


def take_expired(db: Connection, owner_id: int) -> list[Row]:
    """Delete the expired limits of an account and of its repositories. Return them.

    The worker has not deleted them yet, so their events are still to be sent.
    """
    _alone(db, owner_id)
    where = f"(account_id = :account_id OR {OF_ITS_REPOSITORIES}) AND expires_at <= :now"
    return _delete(db, where, account_id=owner_id)


def _end(db: Connection, where: str, **given: int) -> list[Row]:
    # Expired limits stay until their event has been sent.
    return _delete(db, f"{where} AND expires_at > :now", **given)


def _delete(db: Connection, where: str, **given: int) -> list[Row]:
    return db.all(f"DELETE FROM interaction_limit WHERE {where} RETURNING {COLUMNS}", **given)
