"""The rights of an app's token, which are computed anew for each request.

A user's token has what it and the app have in common. For an installation's token, also the
installation and its selection of repositories limit the rights.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from store.accounts import permissions
from store.database.connection import Connection, Row


@dataclass(frozen=True, slots=True)
class InstallationReach:
    """The repositories that an installation's token covers: an owner's, or only `repositories`."""

    account_id: int
    repositories: frozenset[int] | None

    def covers(self, repo: Row) -> bool:
        """Return whether the token covers this repository. The row needs `id` and `owner_id`."""
        if repo["owner_id"] != self.account_id:
            return False
        return self.repositories is None or repo["id"] in self.repositories


def limit_token(db: Connection, token: Row) -> Row | None:
    """Limit an app's token to what the app has at present. Other tokens keep their rights.

    The row of an installation's token gets `suspended`: whether the installation is. Return None if
    the app or the installation was removed after the token was read.
    """
    if token["installation_id"] is not None:
        return _limit_to_installation(db, token)
    if token["kind"] == "app_user" and token["app_id"] is not None:
        most = db.value("SELECT permissions FROM app WHERE id = :id", id=token["app_id"])
        if most is None:
            return None
        token["permissions"] = of_user(token["permissions"], orjson.loads(most))
    return token


def of_user(held: Mapping[str, str], most: Mapping[str, str]) -> dict[str, str]:
    """Return the permissions of a user's token that its app, which has `most`, still has."""
    return permissions.common(held, permissions.METADATA | dict(most))


def _limit_to_installation(db: Connection, token: Row) -> Row | None:
    found = db.one(
        "SELECT i.account_id, i.permissions, i.every_repository, i.suspended_at, p.permissions AS"
        " most FROM installation i JOIN app p ON p.id = i.app_id WHERE i.id = :id",
        id=token["installation_id"],
    )
    if found is None:
        return None
    held = permissions.common(orjson.loads(found["most"]), orjson.loads(found["permissions"]))
    token["permissions"] = permissions.common(token["permissions"], permissions.METADATA | held)
    token["target_id"] = found["account_id"]
    token["suspended"] = found["suspended_at"] is not None
    if not found["every_repository"]:
        selected = selected_repositories(db, token["installation_id"])
        asked = token["repositories"]
        token["repositories"] = selected if asked is None else selected & asked
    return token


def selected_repositories(db: Connection, installation_id: int) -> frozenset[int]:
    """Return the ids of the repositories that are chosen for an installation."""
    found = db.column(
        "SELECT repo_id FROM installation_repository WHERE installation_id = :id",
        id=installation_id,
    )
    return frozenset(found)
