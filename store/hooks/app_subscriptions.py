"""Subscriptions of the hooks of apps: where an app is installed, its hook subscribes to events.

An installation on all repositories of an account subscribes like a hook of an organization, and
one on chosen repositories like a hook of each of these. So the fan-out finds the hook like any
other.
"""

import json

from store.accounts import permissions
from store.accounts.permissions import METADATA
from store.database.connection import Connection, Row
from store.hooks.app_events import allowed
from store.hooks.event_names import ORGANIZATION_EVENTS


def sync(db: Connection, app_id: int) -> None:
    """Update the subscriptions of an app's hook to match all its installations."""
    _alone(db, app_id)
    for hook in _hooks(db, app_id):
        remove(db, hook["id"])
        if hook["active"]:
            _add(db, hook["id"], _installations(db, app_id, "i.app_id = :app_id"))


def sync_account(db: Connection, app_id: int, account_id: int) -> None:
    """Update the subscriptions of an app's hook to match its installation on one account.

    The cost does not grow with the installations on other accounts.
    """
    _alone(db, app_id)
    on_account = "i.app_id = :app_id AND i.account_id = :account_id"
    for hook in _hooks(db, app_id):
        _remove_of_account(db, hook["id"], account_id)
        if hook["active"]:
            found = _installations(db, app_id, on_account, account_id=account_id)
            _add(db, hook["id"], found)


def _alone(db: Connection, app_id: int) -> None:
    """Lock the subscriptions, so that each change sees the rows of the change before it."""
    db.alone(f"subscriptions of app {app_id}")


def _hooks(db: Connection, app_id: int) -> list[Row]:
    return db.all("SELECT id, active FROM hook WHERE app_id = :id", id=app_id)


def end(db: Connection, app_id: int, hook_id: int) -> None:
    """Remove all subscriptions of an app's hook that is deleted or disabled.

    A change of an installation sees that the hook is not active, and adds none again.
    """
    _alone(db, app_id)
    remove(db, hook_id)


def remove(db: Connection, hook_id: int) -> None:
    for table in ("subscription", "owner_subscription"):
        db.delete(table, hook_id=hook_id)


def _remove_of_account(db: Connection, hook_id: int, account_id: int) -> None:
    given = {"hook_id": hook_id, "account_id": account_id}
    db.execute(
        "DELETE FROM owner_subscription WHERE hook_id = :hook_id AND owner_id = :account_id",
        **given,
    )
    db.execute(
        "DELETE FROM subscription WHERE hook_id = :hook_id AND repo_id IN"
        " (SELECT r.id FROM repository r WHERE r.owner_id = :account_id)",
        **given,
    )


def _add(db: Connection, hook_id: int, found: list[Row]) -> None:
    wide: list[tuple[object, ...]] = []
    chosen: list[tuple[object, ...]] = []
    for row in found:
        events = _events(row)
        if row["every_repository"]:
            wide += [(row["account_id"], event, hook_id) for event in events]
            continue
        # These events have no repository that could be a chosen one.
        around = ORGANIZATION_EVENTS.intersection(events)
        wide += [(row["account_id"], event, hook_id) for event in sorted(around)]
        repo_ids = _chosen(db, row["id"])
        chosen += [(id_, event, hook_id) for id_ in repo_ids for event in events
                   if event not in around]  # fmt: skip
    db.insert_many("owner_subscription", "owner_id, event, hook_id", wide)
    db.insert_many("subscription", "repo_id, event, hook_id", chosen)


def _installations(db: Connection, app_id: int, which: str, **given: int) -> list[Row]:
    return db.all(
        "SELECT i.id, i.account_id, i.every_repository, i.permissions, i.events, p.permissions"
        " AS most, p.events AS asked FROM installation i JOIN app p ON p.id = i.app_id"
        f" WHERE {which} AND i.suspended_at IS NULL ORDER BY i.id",
        app_id=app_id,
        **given,
    )


def _events(row: Row) -> list[str]:
    held = permissions.common(json.loads(row["permissions"]), json.loads(row["most"]))
    return allowed(json.loads(row["asked"]), json.loads(row["events"]), METADATA | held)


def _chosen(db: Connection, installation_id: int) -> list[int]:
    return db.column(
        "SELECT repo_id FROM installation_repository WHERE installation_id = :id ORDER BY repo_id",
        id=installation_id,
    )
