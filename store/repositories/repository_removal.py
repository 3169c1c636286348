"""The removal of a repository, with all that belongs to it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from store.database import upsert
from store.database.connection import ENDLESS, Connection, Row
from store.delivery import hook_removal
from store.delivery.websub import websub
from store.hooks.hook_targets import repository
from store.repositories import repository_counts

GONE = "the repository was removed"


@dataclass(frozen=True, slots=True)
class LargeTable:
    """A table of the state of which a repository may have very much."""

    name: str
    key: str = "id"
    """Columns that find a row. With repo_id first, SQLite would read all rows of the repository."""
    cost: int = 1
    """So many small rows take as long as one of these, with its texts and what belongs to it."""


LARGE = (
    LargeTable("commit_status"),
    LargeTable("check_run", cost=20),
    LargeTable("check_suite"),
    LargeTable("workflow_job", cost=20),
    LargeTable("workflow_run", cost=20),
    LargeTable("workflow"),
    LargeTable("concurrency_group"),
    LargeTable("rule_suite"),
    LargeTable("issue_event"),
    LargeTable("issue_comment", cost=20),
    LargeTable("deletion", "kind, number, repo_id"),
    LargeTable("commit_comment", cost=20),
    LargeTable("issue", cost=20),
    LargeTable("ref"),
    LargeTable("ref_report", "name, repo_id"),
    LargeTable("star", "account_id, repo_id"),
    LargeTable("watching", "account_id, repo_id"),
    LargeTable("artifact", cost=20),
    LargeTable("attestation"),
    LargeTable("import_author"),
)
"""Rows that belong to others come before them."""
# So many small rows take as long as the end of a subscription, with the denial for its subscriber.
DENIAL = 10


def parts(db: Connection, repo_id: int) -> dict[str, int]:
    """Return how many things go with a repository, by kind."""
    return {
        "hooks": _count(db, "hook x WHERE x.repo_id = :id AND x.deleted_at IS NULL", repo_id),
        "waiting_deliveries": hook_removal.count_unended(db, repository(repo_id)),
        "websub_subscriptions": len(websub.list_subscription_ids(db, repo_id)),
        "issues": _count(db, "issue x WHERE x.repo_id = :id", repo_id),
        "collaborators": _count(db, "collaborator x WHERE x.repo_id = :id", repo_id),
    }


def _count(db: Connection, source: str, repo_id: int) -> int:
    return db.number(f"SELECT count(*) FROM {source}", id=repo_id)


def remove(db: Connection, repo: Row) -> None:
    """Delete a repository, its hooks, its state and its WebSub subscriptions.

    Waiting deliveries of its hooks become dead. Events and attempts stay until retention deletes
    them. WebSub subscribers get a denial.
    """
    _deny(db, repo["id"], ENDLESS)
    hook_removal.end_hooks(db, repository(repo["id"]), GONE)
    deleted = db.tuples(
        "DELETE FROM repository WHERE id = :id RETURNING owner_id, private", id=repo["id"]
    )
    upsert.drop_counts(db, "repository", repo["id"])
    repository_counts.add(db, dict.fromkeys(deleted, -1))


def remove_part(db: Connection, repo: Row) -> bool:
    """Delete a repository as `remove` does, or a part of it if it has much that goes with it.

    Return whether it is removed. If not, the next call goes on, and its hooks are deleted.
    """
    if not shrink(db, repo["id"], hook_removal.MOST):
        return False
    remove(db, repo)
    return True


def shrink(db: Connection, repo_id: int, left: int) -> int:
    """End or delete up to `left` deliveries, subscriptions and rows of the state of a repository.

    Return how many more may go. At 0, more of them may have to go in the next part. Then its hooks
    get no more events.
    """
    target = repository(repo_id)
    left -= hook_removal.end_deliveries(db, target, GONE, left)
    left -= _counted(DENIAL, left, partial(_deny, db, repo_id))
    for table in LARGE:
        if left:
            left -= _counted(table.cost, left, partial(_delete_some, db, table, repo_id))
    if not left:
        hook_removal.delete_all(db, target)
    return left


def _counted(cost: int, left: int, end: Callable[[int], int]) -> int:
    """End as many things of this cost as fit in `left`. Return the small rows that cost as much."""
    return min(cost * end(-(-left // cost)), left)


def _deny(db: Connection, repo_id: int, most: int) -> int:
    chosen = websub.list_subscription_ids(db, repo_id, most)
    return websub.deny(db, dict.fromkeys(chosen, GONE))


def _delete_some(db: Connection, table: LargeTable, repo_id: int, most: int) -> int:
    return db.execute(
        f"DELETE FROM {table.name} WHERE ({table.key}) IN"
        f" (SELECT {table.key} FROM {table.name} WHERE repo_id = :repo_id LIMIT :most)",
        repo_id=repo_id,
        most=most,
    )
