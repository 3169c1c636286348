"""Installations of apps on users and organizations, with what each account has accepted."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from store.accounts import permissions
from store.accounts.apps import checked_events
from store.accounts.permissions import METADATA
from store.apps import installation_repositories
from store.database import paging, row_lookup, upsert
from store.database.connection import ENDLESS, Connection, Row
from store.errors import Conflict, Invalid
from store.hooks import app_subscriptions

SELECT = (
    "SELECT i.id, i.app_id, i.account_id, i.permissions, i.events, i.every_repository,"
    " i.suspended_at, i.suspended_by, i.created_at, i.updated_at, p.slug, p.client_id, p.bot_id,"
    " p.name AS app_name, p.permissions AS most, a.login, a.kind AS account_kind"
    " FROM installation i JOIN app p ON p.id = i.app_id JOIN account a ON a.id = i.account_id"
)
OUTDATED = "(i.permissions <> p.permissions OR i.events <> p.events)"


def create(
    db: Connection,
    app: Row,
    account: Row,
    *,
    accepted: Mapping[str, str] | None = None,
    repositories: Iterable[int] | None = None,
) -> Row:
    """Install an app on an account, for all its repositories or only for `repositories`.

    The account accepts the app's permissions, or only `accepted`. Raises Invalid if the app is not
    an integration, the account is a bot's, or more is accepted than the app asks for; Conflict if
    it is installed there already.
    """
    if app["kind"] != "integration":
        raise Invalid("only an integration can be installed", field="kind")
    if account["kind"] == "Bot":
        raise Invalid("an app can only be installed on a user or an organization", field="account")
    values = {
        "app_id": app["id"],
        "account_id": account["id"],
        "permissions": _accepted(app, accepted),
        "events": json.dumps(checked_events(app["events"])),
        "every_repository": int(repositories is None),
        "created_at": db.now,
        "updated_at": db.now,
    }
    made = upsert.insert_if_absent(db, "installation", values, "app_id, account_id")
    if made is None:
        raise Conflict(f"the app {app['name']!r} is installed on {account['login']} already")
    if repositories is not None:
        installation_repositories.set_chosen(db, made, account["id"], repositories)
    app_subscriptions.sync_account(db, app["id"], account["id"])
    return required(db, made)


def _accepted(app: Row, accepted: Mapping[str, str] | None) -> str:
    wanted = app["permissions"] if accepted is None else accepted
    if more := permissions.exceeding(METADATA | app["permissions"], wanted):
        raise Invalid(f"the app does not ask for the permission {more[0]}", field="permissions")
    # The names are sorted, as in the app's row, so that equal permissions are equal texts.
    return json.dumps(dict(wanted), sort_keys=True)


def required(db: Connection, installation_id: int) -> Row:
    """Return an installation that exists."""
    row = get(db, installation_id)
    assert row is not None, "the installation exists"
    return row


def get(db: Connection, installation_id: int) -> Row | None:
    """Return the installation with this id, or None.

    It has its app's `slug`, `client_id` and `bot_id`, and its account's `login`. Its `permissions`
    are those that the account has accepted and the app still asks for.
    """
    return _read(db.one(f"{SELECT} WHERE i.id = :id", id=installation_id))


def on_account(db: Connection, app_id: int, account_id: int) -> Row | None:
    """Return the app's installation on an account, or None."""
    return _read(
        db.one(
            f"{SELECT} WHERE i.app_id = :app_id AND i.account_id = :account_id",
            app_id=app_id,
            account_id=account_id,
        )
    )


def _read(row: Row | None) -> Row | None:
    return None if row is None else decoded(row)


def decoded(row: Row) -> Row:
    """Return a row of SELECT with its JSON read.

    Its permissions are those that the app still asks for.
    """
    held = permissions.common(json.loads(row["permissions"]), json.loads(row.pop("most")))
    row["permissions"] = METADATA | held
    row["events"] = json.loads(row["events"])
    row["every_repository"] = bool(row["every_repository"])
    return row


def of_account(db: Connection, account_id: int) -> list[Row]:
    """Return the installations on an account, oldest first."""
    rows = db.all(f"{SELECT} WHERE i.account_id = :id ORDER BY i.id", id=account_id)
    return [decoded(row) for row in rows]


def with_chosen(db: Connection, repo_id: int) -> list[Row]:
    """Return the installations for which a repository was chosen, oldest first."""
    rows = db.all(
        f"{SELECT} WHERE i.every_repository = 0 AND EXISTS (SELECT 1 FROM installation_repository c"
        " WHERE c.installation_id = i.id AND c.repo_id = :repo_id) ORDER BY i.id",
        repo_id=repo_id,
    )
    return [decoded(row) for row in rows]


def page(
    db: Connection,
    app_id: int,
    *,
    limit: int,
    offset: int,
    since: int | None = None,
    outdated: bool = False,
) -> list[Row]:
    """Return an app's installations, oldest first.

    `since` leaves only those updated since then, in microseconds, and `outdated` those that have
    not accepted all that the app asks for at present.
    """
    where, given = _where(app_id, since, outdated)
    rows = paging.page(db, f"{SELECT} WHERE {where} ORDER BY i.id", limit, offset, **given)
    return [decoded(row) for row in rows]


def count(
    db: Connection,
    app_id: int,
    most: int = ENDLESS,
    *,
    since: int | None = None,
    outdated: bool = False,
) -> int:
    """Return how many installations `page` can return, counted up to `most`."""
    where, given = _where(app_id, since, outdated)
    return paging.count(
        db,
        f"SELECT i.id FROM installation i JOIN app p ON p.id = i.app_id WHERE {where}",
        most,
        **given,
    )


def _where(app_id: int, since: int | None, outdated: bool) -> tuple[str, dict[str, Any]]:
    return paging.conditions(
        {"i.app_id = :app_id": app_id, "i.updated_at >= :since": since, OUTDATED: outdated}
    )


def accept(db: Connection, installation: Row, app: Row, accepted: Mapping[str, str] | None) -> bool:
    """Accept the app's present permissions and events, or only the permissions `accepted`.

    Return whether that changes anything. Raises Invalid as `create` does.
    """
    wanted = {
        "permissions": _accepted(app, accepted),
        "events": json.dumps(checked_events(app["events"])),
    }
    changed = db.execute(
        "UPDATE installation SET permissions = :permissions, events = :events, updated_at = :now"
        " WHERE id = :id AND (permissions <> :permissions OR events <> :events)",
        id=installation["id"],
        **wanted,
    )
    return _synced(db, installation, changed > 0)


def _synced(db: Connection, installation: Row, changed: bool) -> bool:
    """Update the subscriptions of the app's hook after a change. Return whether there was one."""
    if changed:
        app_subscriptions.sync_account(db, installation["app_id"], installation["account_id"])
    return changed


def suspend(db: Connection, installation: Row, by: int | None = None) -> bool:
    """Suspend an installation: its tokens are rejected. Return False if it is suspended already."""
    changed = db.execute(
        "UPDATE installation SET suspended_at = :now, suspended_by = :by, updated_at = :now"
        " WHERE id = :id AND suspended_at IS NULL",
        by=by,
        id=installation["id"],
    )
    return _synced(db, installation, changed > 0)


def unsuspend(db: Connection, installation: Row) -> bool:
    """End an installation's suspension. Return False if it is not suspended."""
    changed = db.execute(
        "UPDATE installation SET suspended_at = NULL, suspended_by = NULL, updated_at = :now"
        " WHERE id = :id AND suspended_at IS NOT NULL",
        id=installation["id"],
    )
    return _synced(db, installation, changed > 0)


def remove(db: Connection, installation: Row) -> None:
    """Delete an installation and its tokens. Raises Missing if it is gone."""
    row_lookup.delete(db, "installation", installation, "installation")
    app_subscriptions.sync_account(db, installation["app_id"], installation["account_id"])


def of_app(
    db: Connection, app_id: int, limit: int = ENDLESS, most_repositories: int = ENDLESS
) -> list[Row]:
    """Return an app's installations by account, with the names of their chosen `repositories`.

    If there are more than `most_repositories`, these are the first that were chosen.
    """
    rows = db.all(
        f"{SELECT} WHERE i.app_id = :app_id ORDER BY a.login_key LIMIT :limit",
        app_id=app_id,
        limit=limit,
    )
    return [
        decoded(row)
        | {"repositories": installation_repositories.chosen_names(db, row, most_repositories)}
        for row in rows
    ]
