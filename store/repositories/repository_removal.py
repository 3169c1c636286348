"""The removal of a repository, with all that belongs to it."""

from store.database.connection import Connection, Row
from store.delivery import hook_removal
from store.delivery.websub import websub
from store.hooks.hook_targets import repository
from store.ordering.delivery_states import BEHIND, WAITING

GONE = "the repository was removed"
# The state of which a repository may have very much. Rows that belong to others come before them.
LARGE = (
    "commit_status",
    "check_run",
    "check_suite",
    "workflow_job",
    "workflow_run",
    "rule_suite",
    "issue_event",
    "issue_comment",
    "commit_comment",
    "issue",
    "ref",
)


def parts(db: Connection, repo_id: int) -> dict[str, int]:
    """Return how many things go with a repository, by kind."""
    return {
        "hooks": _count(db, "hook x WHERE x.repo_id = :id AND x.deleted_at IS NULL", repo_id),
        "deliveries": _count(
            db,
            "hook h JOIN delivery x ON x.hook_id = h.id"
            f" WHERE h.repo_id = :id AND x.state IN ({WAITING}, {BEHIND})",
            repo_id,
        ),
        "subscriptions": len(websub.list_subscription_ids(db, repo_id)),
        "issues": _count(db, "issue x WHERE x.repo_id = :id", repo_id),
        "collaborators": _count(db, "collaborator x WHERE x.repo_id = :id", repo_id),
    }


def _count(db: Connection, source: str, repo_id: int) -> int:
    counted: int = db.value(f"SELECT count(*) FROM {source}", id=repo_id)
    return counted


def remove(db: Connection, repo: Row) -> None:
    """Delete a repository, its hooks, its state and its WebSub subscriptions.

    Waiting deliveries of its hooks become dead. Events and attempts stay until retention deletes
    them. WebSub subscribers get a denial.
    """
    websub.deny(db, dict.fromkeys(websub.list_subscription_ids(db, repo["id"]), GONE))
    hook_removal.end_hooks(db, repository(repo["id"]), GONE)
    db.execute("DELETE FROM repository WHERE id = :id", id=repo["id"])


def remove_part(db: Connection, repo: Row) -> bool:
    """Delete a repository as `remove` does, or a part of it if it has much that goes with it.

    Return whether it is removed. If not, the next call goes on, and its hooks are deleted.
    """
    if not shrink(db, repo["id"], hook_removal.MOST):
        return False
    remove(db, repo)
    return True


def shrink(db: Connection, repo_id: int, left: int) -> int:
    """End or delete up to `left` waiting deliveries and rows of the state of a repository.

    Return how many more may go. At 0, more of them may have to go in the next part. Then its hooks
    get no more events.
    """
    target = repository(repo_id)
    left -= hook_removal.end_deliveries(db, target, GONE, left)
    for table in LARGE:
        left -= _delete_some(db, table, repo_id, left) if left else 0
    if not left:
        hook_removal.delete_all(db, target)
    return left


def _delete_some(db: Connection, table: str, repo_id: int, most: int) -> int:
    return db.execute(
        f"DELETE FROM {table} WHERE id IN"
        f" (SELECT x.id FROM {table} x WHERE x.repo_id = :repo_id LIMIT :most)",
        repo_id=repo_id,
        most=most,
    )
