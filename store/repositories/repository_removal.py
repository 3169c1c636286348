"""The removal of a repository, with all that belongs to it."""

from store.database.connection import Connection, Row
from store.delivery import hook_removal
from store.delivery.websub import websub
from store.hooks.hook_targets import repository
from store.ordering.delivery_states import BEHIND, WAITING

GONE = "the repository was removed"


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
    """Delete a repository as `remove` does, or a part of it if it has many waiting deliveries.

    Return whether it is removed. If not, the next call goes on, and its hooks are deleted.
    """
    most, target = hook_removal.MOST, repository(repo["id"])
    if hook_removal.end_deliveries(db, target, GONE, most) == most:
        hook_removal.delete_all(db, target)
        return False
    remove(db, repo)
    return True
