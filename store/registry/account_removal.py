"""The removal of a user or an organization, with all that belongs to it."""

from collections import Counter
from collections.abc import Iterator

from store.accounts import accounts, memberships, teams
from store.assistant import seat_rows
from store.database import upsert
from store.database.connection import Connection, Row
from store.delivery import hook_removal, sources
from store.hooks.hook_targets import HookTarget, organization
from store.hooks.hook_targets import app as target_of_app
from store.registry import app_removal
from store.repositories import repositories, repository_removal, watching

GONE = "the organization was removed"
# The repositories that a transaction removes. All other writers wait for it.
MOST = 100
# The columns of the state in which one account, such as a bot's, may stand very often.
NAMED = (
    ("issue_event", "actor_id"),
    ("issue_comment", "author_id"),
    ("commit_comment", "author_id"),
    ("issue", "author_id"),
    ("issue", "closed_by_id"),
    ("pull", "merged_by_id"),
    ("commit_status", "creator_id"),
    ("workflow_run", "actor_id"),
    ("rule_suite", "actor_id"),
)


def parts(db: Connection, account: Row) -> dict[str, int]:
    """Return how many things go with an account, by kind."""
    owned = _repository_ids(db, account["id"])
    counted: Counter[str] = Counter()
    for repo_id in owned:
        counted.update(repository_removal.parts(db, repo_id))
    own = "hook x WHERE x.org_id = :id AND x.deleted_at IS NULL"
    counted["hooks"] += _count(db, own, account["id"])
    return {
        "repositories": len(owned),
        **{name: many for name, many in counted.items() if many},
        "members": _count(db, "membership x WHERE x.organization_id = :id", account["id"]),
        "teams": _count(db, "team x WHERE x.organization_id = :id", account["id"]),
        "tokens": _count(db, "token x WHERE x.account_id = :id", account["id"]),
        "apps": _count(db, "app x WHERE x.owner_id = :id", account["id"]),
        "sources": _count(db, "source x WHERE x.owner_id = :id", account["id"]),
    }


def _count(db: Connection, source: str, account_id: int) -> int:
    return db.number(f"SELECT count(*) FROM {source}", id=account_id)


def _repository_ids(db: Connection, account_id: int) -> list[int]:
    return db.column("SELECT id FROM repository WHERE owner_id = :id ORDER BY id", id=account_id)


def check(db: Connection, account: Row) -> None:
    """Raise Conflict if nobody could administer something without this account."""
    accounts.keep_site_administrator(db, account["id"])
    accounts.keep_administrator(db, account["id"])


def remove_part(db: Connection, account: Row) -> bool:
    """Delete an account as `remove` does, or a part of what it owns if that is much.

    Return whether the account is removed. If not, the next call goes on. Its tokens are deleted
    first. Raises Conflict as `check` does.
    """
    check(db, account)
    db.delete("token", account_id=account["id"])
    left = hook_removal.MOST
    repo_ids = _repository_ids(db, account["id"])
    for repo_id in repo_ids[:MOST]:
        left = repository_removal.shrink(db, repo_id, left)
        if not left:
            return False
        _remove_repository(db, repo_id)
    if len(repo_ids) > MOST:
        return False
    for target, reason in _own_targets(db, account):
        left = hook_removal.end_part(db, target, reason, left)
        if not left:
            return False
    if not _disband(db, account["id"], _forget(db, account["id"], left)):
        return False
    remove(db, account)
    return True


def _forget(db: Connection, account_id: int, left: int) -> int:
    """Take an account out of up to `left` rows that stay. Return how many more may change."""
    for table, column in NAMED:
        if left:
            left -= db.execute(
                f"UPDATE {table} SET {column} = NULL WHERE id IN"
                f" (SELECT x.id FROM {table} x WHERE x.{column} = :id LIMIT :left)",
                id=account_id,
                left=left,
            )
    return left


def _disband(db: Connection, organization_id: int, left: int) -> int:
    """Delete up to `left` seats, teams and memberships. Return how many more may go."""
    left -= seat_rows.drop(db, organization_id, left)
    left -= teams.drop(db, organization_id, left)
    return left - memberships.drop(db, organization_id, left)


def _own_targets(db: Connection, account: Row) -> Iterator[tuple[HookTarget, str]]:
    """Yield the targets of hooks that go with an account, beside its repositories."""
    yield organization(account["id"]), GONE
    for app_id in db.column("SELECT id FROM app WHERE owner_id = :id", id=account["id"]):
        yield target_of_app(app_id), app_removal.GONE


def remove(db: Connection, account: Row) -> None:
    """Delete an account with its repositories, applications, sources and tokens.

    Raises Conflict as `check` does.
    """
    check(db, account)
    for repo_id in _repository_ids(db, account["id"]):
        _remove_repository(db, repo_id)
    hook_removal.end_hooks(db, organization(account["id"]), GONE)
    for app_id in db.column("SELECT id FROM app WHERE owner_id = :id", id=account["id"]):
        app_removal.remove(db, app_id)
    # A source without its owner could send events of all repositories.
    for source_id in db.column("SELECT id FROM source WHERE owner_id = :id", id=account["id"]):
        sources.remove(db, source_id)
    # If the account alone was deleted, counts of others would be wrong.
    watching.forget(db, account["id"])
    seat_rows.forget(db, account["id"])
    teams.forget(db, account["id"])
    memberships.drop(db, account["id"])
    upsert.drop_counts(db, "account", account["id"])
    db.delete("account", id=account["id"])


def _remove_repository(db: Connection, repo_id: int) -> None:
    repo = repositories.get(db, repo_id)
    assert repo is not None, "read in the same transaction"
    repository_removal.remove(db, repo)
