"""The removal of an application, with all that belongs to it."""

from store.accounts import apps, bots
from store.database.connection import Connection
from store.delivery import hook_removal
from store.hooks.hook_targets import app as target_of_app

GONE = "the app was removed"


def remove(db: Connection, app_id: int) -> bool:
    """Delete an application with its hook, grants, installations and tokens.

    Waiting deliveries of its hook become dead. Return False if there is no such application.
    """
    app = apps.get(db, app_id)
    if app is None:
        return False
    hook_removal.end_hooks(db, target_of_app(app_id), GONE)
    db.delete("app", id=app_id)
    if app["bot_id"] is not None:
        bots.release(db, app["bot_id"])
    return True


def remove_part(db: Connection, app_id: int) -> bool:
    """Delete an application as `remove` does, or end a part of what waits for its hook.

    Return whether it is removed. If not, the next call goes on, and its hook is deleted.
    """
    if not hook_removal.end_part(db, target_of_app(app_id), GONE, hook_removal.MOST):
        return False
    remove(db, app_id)
    return True
