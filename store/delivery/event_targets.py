"""Whether an event is one of those that the hooks of a target can get."""

from store.apps import event_installations
from store.database.connection import Connection, Row
from store.hooks.hook_targets import HookTarget


def concerns(db: Connection, event: Row, target: HookTarget) -> bool:
    """Return whether hooks of a target can get an event. System hooks can get each one."""
    if target.kind == "repository":
        return bool(event["repo_id"] == target.id)
    if target.kind == "organization":
        return event["org_id"] == target.id or _owns(db, target.id, event["repo_id"])
    if target.kind == "app":
        return event_installations.covers(db, target.id, event["id"])
    return True


def _owns(db: Connection, account_id: int, repo_id: int) -> bool:
    return db.exists(
        "SELECT 1 FROM repository WHERE id = :repo_id AND owner_id = :account_id",
        repo_id=repo_id,
        account_id=account_id,
    )
