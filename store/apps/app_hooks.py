"""The hook of an app: at most one, which gets the events to which the app subscribes."""

import json
from collections.abc import Iterable
from typing import Any

from typing_extensions import Unpack

from store.accounts import apps
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid
from store.hooks import app_subscriptions, hook_queries, hooks
from store.hooks.event_names import FITTING, WILDCARD
from store.hooks.hook_targets import app as target_of_app


def of(db: Connection, app_id: int) -> Row | None:
    """Return the app's hook, or None."""
    found = hook_queries.page(db, target_of_app(app_id), limit=1)
    return found[0] if found else None


def receiving(db: Connection, app_id: int) -> int | None:
    """Return the id of the app's hook if it is active, else None."""
    hook = of(db, app_id)
    return hook["id"] if hook is not None and hook["active"] else None


def create(db: Connection, app: Row, *, url: str, **given: Any) -> Row:
    """Create the app's hook, as `hooks.create` does. Raises Conflict if it has one.

    Raises Invalid if the app is not an integration.
    """
    if app["kind"] != "integration":
        raise Invalid("only an integration can have a hook", field="kind")
    target = target_of_app(app["id"])
    hooks.lock_target(db, target)
    if of(db, app["id"]) is not None:
        raise Conflict(f"the app {app['name']!r} has a hook already")
    return hooks.create(db, target, url=url, events=_fitting(app["events"]), **given)


def _fitting(events: Iterable[str]) -> list[str]:
    return [name for name in events if name == WILDCARD or name in FITTING["app"]]


def update_app(db: Connection, app_id: int, **fields: Unpack[apps.AppFields]) -> None:
    """Change an app as `apps.update` does, and its hook with it."""
    apps.update(db, app_id, **fields)
    hook = of(db, app_id)
    if hook is None:
        return
    app = apps.get(db, app_id)
    assert app is not None, "it has just been changed"
    db.execute(
        "UPDATE hook SET events = :events, version = version + 1, updated_at = :now"
        " WHERE id = :id AND events <> :events",
        id=hook["id"],
        events=json.dumps(_fitting(app["events"])),
    )
    app_subscriptions.sync(db, app_id)
    hooks.notify_changed(db, hook["id"])
