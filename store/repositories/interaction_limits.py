"""Interaction limits: who may for a while not comment, open issues or make pull requests, in what
is an account's or in one repository.

One that is over is none, whether its end has been told yet or not.
"""

from collections.abc import Sequence

from store.accounts import accounts
from store.clock import DAY, SECOND, months_later
from store.database.connection import Connection, Row, json_array
from store.errors import Conflict
from store.jobs import jobs
from store.repositories import author_association

LIMITS = ("existing_users", "contributors_only", "collaborators_only")
# Expiry to days, or to months of the calendar.
DAYS = {"one_day": 1, "three_days": 3, "one_week": 7}
MONTHS = {"one_month": 1, "six_months": 6}
EXPIRIES = (*DAYS, *MONTHS)
COLUMNS = "id, account_id, repo_id, allowed, created_at, expires_at"


def ends_at(now: int, expiry: str) -> int:
    """When a limit ends that is set now: in whole seconds, as it is shown."""
    end = now + DAYS[expiry] * DAY if expiry in DAYS else months_later(now, MONTHS[expiry])
    return end // SECOND * SECOND


def of_account(db: Connection, account_id: int) -> Row | None:
    """The limit in all that is this account's."""
    return db.one(
        f"SELECT {COLUMNS} FROM interaction_limit"
        " WHERE account_id = :account_id AND expires_at > :now",
        account_id=account_id,
        now=db.now,
    )


def in_force(db: Connection, repo: Row) -> Row | None:
    """The limit in a repository: that of its owner, or else its own."""
    return of_account(db, repo["owner_id"]) or db.one(
        f"SELECT {COLUMNS} FROM interaction_limit WHERE repo_id = :repo_id AND expires_at > :now",
        repo_id=repo["id"],
        now=db.now,
    )


def ending_next(db: Connection, limit: int, repo_ids: Sequence[int] | None = None) -> list[Row]:
    """The limits in force, the first to end first: those in these repositories, their owners' too,
    or all; each with the `account` and its `kind`, or the `repository`.
    """
    chosen, given = "", {}
    if repo_ids is not None:
        ids = f"(SELECT id FROM {db.each('repos', id='integer')} AS w)"
        chosen = (
            f" AND (l.repo_id IN {ids} OR l.account_id IN"
            f" (SELECT o.owner_id FROM repository o WHERE o.id IN {ids}))"
        )
        given = {"repos": json_array(repo_ids)}
    return db.all(
        "SELECT l.id, l.account_id, l.repo_id, l.allowed, l.created_at, l.expires_at,"
        " a.login AS account, a.kind, o.login || '/' || r.name AS repository"
        " FROM interaction_limit l LEFT JOIN account a ON a.id = l.account_id"
        " LEFT JOIN repository r ON r.id = l.repo_id LEFT JOIN account o ON o.id = r.owner_id"
        f" WHERE l.expires_at > :now{chosen} ORDER BY l.expires_at, l.id LIMIT :limit",
        now=db.now,
        limit=limit,
        **given,
    )


def excludes(db: Connection, repo: Row, account_id: int) -> Row | None:
    """The limit that keeps an account from commenting in a repository, opening issues or making
    pull requests; None where it may. Limits are for public repositories.
    """
    row = None if repo["private"] else in_force(db, repo)
    if row is None or author_association.association_of(db, repo, account_id) != "NONE":
        return None
    account = accounts.get(db, account_id)
    if account is None or account["site_admin"]:
        return None
    if row["allowed"] == "existing_users" and account["created_at"] <= db.now - DAY:
        return None
    contributed = row["allowed"] != "collaborators_only" and _contributed(db, repo, account_id)
    return None if contributed else row


def _contributed(db: Connection, repo: Row, account_id: int) -> bool:
    """Whether a pull request of this account was merged."""
    found = db.value(
        "SELECT 1 FROM issue i JOIN pull p ON p.issue_id = i.id WHERE i.repo_id = :repo_id"
        " AND i.author_id = :account_id AND i.is_pull = 1 AND p.merged_at IS NOT NULL LIMIT 1",
        repo_id=repo["id"],
        account_id=account_id,
    )
    return found is not None


def limit_account(
    db: Connection, account_id: int, allowed: str, ends: int
) -> tuple[Row, list[Row]]:
    """Limit all that is an account's. Also returns the limits of its repositories that this
    overwrites.
    """
    _alone(db, account_id)
    _end(db, "account_id = :account_id", account_id=account_id)
    of_repositories = _end(
        db,
        "repo_id IN (SELECT r.id FROM repository r WHERE r.owner_id = :account_id)",
        account_id=account_id,
    )
    return _begin(db, account_id, None, allowed, ends), of_repositories


def limit_repository(db: Connection, repo: Row, allowed: str, ends: int) -> Row:
    """Limit one repository. Conflict while its owner has a limit."""
    _check_owner(db, repo)
    _end(db, "repo_id = :repo_id", repo_id=repo["id"])
    return _begin(db, None, repo["id"], allowed, ends)


def remove_account_limit(db: Connection, account_id: int) -> Row | None:
    """End an account's limit; None where there is none."""
    _alone(db, account_id)
    return next(iter(_end(db, "account_id = :account_id", account_id=account_id)), None)


def remove_repository_limit(db: Connection, repo: Row) -> Row | None:
    """End a repository's limit; None where there is none. Conflict while its owner has one."""
    _check_owner(db, repo)
    return next(iter(_end(db, "repo_id = :repo_id", repo_id=repo["id"])), None)


def _alone(db: Connection, owner_id: int) -> None:
    # Who sets one for a repository and who sets one for its owner must see each other.
    db.alone(f"interaction limits of {owner_id}")


def _check_owner(db: Connection, repo: Row) -> None:
    _alone(db, repo["owner_id"])
    if of_account(db, repo["owner_id"]) is not None:
        kind = repo["owner_kind"].lower()
        raise Conflict(f"The {kind} that owns this repository has an interaction limit.")


def _begin(
    db: Connection, account_id: int | None, repo_id: int | None, allowed: str, ends: int
) -> Row:
    row = db.one(
        "INSERT INTO interaction_limit (account_id, repo_id, allowed, created_at, expires_at)"
        f" VALUES (:account_id, :repo_id, :allowed, :now, :ends) RETURNING {COLUMNS}",
        account_id=account_id,
        repo_id=repo_id,
        allowed=allowed,
        now=db.now,
        ends=ends,
    )
    assert row is not None
    jobs.notify_worker(db)
    return row


def _end(db: Connection, where: str, **given: int) -> list[Row]:
    # What is over by itself stays, until that is told.
    return db.all(
        f"DELETE FROM interaction_limit WHERE {where} AND expires_at > :now RETURNING {COLUMNS}",
        now=db.now,
        **given,
    )
