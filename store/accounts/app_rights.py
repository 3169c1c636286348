"""The rights of an app's token, which are computed anew for each request.

A user's token has what it and the app have in common. For an installation's token, also the
installation and its selection of repositories limit the rights. So they do for a user's token that
is only valid where the app is installed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from store.accounts import permissions
from store.database.connection import Connection, Row

INSTALLATION = (
    "SELECT i.id, i.account_id, i.permissions, i.every_repository, i.suspended_at, p.permissions AS"
    " most FROM installation i JOIN app p ON p.id = i.app_id"
)
COVERED = (
    "EXISTS (SELECT 1 FROM installation i WHERE i.app_id = :covering_app"
    " AND i.account_id = r.owner_id AND i.suspended_at IS NULL AND (i.every_repository = 1"
    " OR EXISTS (SELECT 1 FROM installation_repository c"
    " WHERE c.installation_id = i.id AND c.repo_id = r.id)))"
)
"""SQL for: an installation of the app :covering_app covers the repository `r`."""


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


@dataclass(frozen=True, slots=True)
class WhereInstalled:
    """The limit of a user's token that is only valid where its app is installed.

    `permissions` are the token's own. `target_id` and `repositories` are the limits of a scoped
    token, or None.
    """

    app_id: int
    permissions: Mapping[str, str]
    target_id: int | None
    repositories: frozenset[int] | None

    def rights_on(self, db: Connection, account_id: int) -> "InstalledRights":
        """Return the rights on an account: none where the app is not installed, or suspended."""
        found = db.one(
            f"{INSTALLATION} WHERE i.app_id = :app_id AND i.account_id = :account_id"
            " AND i.suspended_at IS NULL",
            app_id=self.app_id,
            account_id=account_id,
        )
        if found is None or self.target_id not in (None, account_id):
            return NOWHERE
        granted = _granted(self.permissions, found)
        return InstalledRights(granted, account_id, _selection(db, found, self.repositories))

    def organizations_with(self, db: Connection, account_id: int, permission: str) -> list[int]:
        """Return the ids of a user's organizations on which the token has a permission to read."""
        found = db.all(
            f"{INSTALLATION} JOIN membership m ON m.organization_id = i.account_id"
            " WHERE i.app_id = :app_id AND i.suspended_at IS NULL AND m.account_id = :account_id",
            app_id=self.app_id,
            account_id=account_id,
        )
        return [
            row["account_id"]
            for row in found
            if self.target_id in (None, row["account_id"])
            and permission in _granted(self.permissions, row)
        ]


class InstalledRights(NamedTuple):
    """The rights of a token on an account, and the repositories; None for all of the account's."""

    permissions: dict[str, str]
    target_id: int
    repositories: frozenset[int] | None


NOWHERE = InstalledRights({}, 0, frozenset())
"""The rights where an app is not installed. No account has the id 0."""


def limit_token(db: Connection, token: Row) -> Row | None:
    """Limit an app's token to what the app has at present. Other tokens keep their rights.

    The row of an installation's token gets `suspended`: whether the installation is. The row of a
    token that is only valid where the app is installed gets that limit as `where_installed`, and
    access to no account. Return None if the app or the installation was removed after the token was
    read.
    """
    if token["installation_id"] is not None:
        return _limit_to_installation(db, token)
    if token["kind"] == "app_user" and token["app_id"] is not None:
        most = db.value("SELECT permissions FROM app WHERE id = :id", id=token["app_id"])
        if most is None:
            return None
        token["permissions"] = of_user(token["permissions"], orjson.loads(most))
        if token["where_installed"]:
            _limit_to_installations(token)
    return token


def _limit_to_installations(token: Row) -> None:
    # As each installation does.
    token["permissions"] |= permissions.METADATA
    token["where_installed"] = WhereInstalled(
        token["app_id"], token["permissions"], token["target_id"], token["repositories"]
    )
    # A check that forgets the limit refuses the token.
    token["target_id"], token["repositories"] = NOWHERE.target_id, NOWHERE.repositories


def of_user(held: Mapping[str, str], most: Mapping[str, str]) -> dict[str, str]:
    """Return the permissions of a user's token that its app, which has `most`, still has."""
    return permissions.common(held, permissions.METADATA | dict(most))


def _limit_to_installation(db: Connection, token: Row) -> Row | None:
    found = db.one(f"{INSTALLATION} WHERE i.id = :id", id=token["installation_id"])
    if found is None:
        return None
    token["permissions"] = _granted(token["permissions"], found)
    token["target_id"] = found["account_id"]
    token["suspended"] = found["suspended_at"] is not None
    token["repositories"] = _selection(db, found, token["repositories"])
    return token


def _granted(held: Mapping[str, str], installation: Row) -> dict[str, str]:
    """Return which of the permissions the account has accepted and the app still asks for."""
    accepted = orjson.loads(installation["permissions"])
    both = permissions.common(orjson.loads(installation["most"]), accepted)
    return permissions.common(held, permissions.METADATA | both)


def _selection(
    db: Connection, installation: Row, asked: frozenset[int] | None
) -> frozenset[int] | None:
    """Return which of the repositories `asked` an installation covers. None means all."""
    if installation["every_repository"]:
        return asked
    selected = selected_repositories(db, installation["id"])
    return selected if asked is None else selected & asked


def selected_repositories(db: Connection, installation_id: int) -> frozenset[int]:
    """Return the ids of the repositories that are chosen for an installation."""
    found = db.column(
        "SELECT repo_id FROM installation_repository WHERE installation_id = :id",
        id=installation_id,
    )
    return frozenset(found)
