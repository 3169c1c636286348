"""The access of apps: with a secret, a JSON Web Token, an installation's token, or a code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hub.auth.access import Access, Credentials
from hub.auth.credentials import Caller
from hub.auth.token_rights import not_accessible
from hub.http.errors import Forbidden
from hub.http.numbers import natural
from store import Connection, Row
from store.apps import installations
from store.errors import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class AsApp(Access):
    """An application with its secret. A `{client_id}` in the path must be its own."""

    credentials: ClassVar[Credentials] = "app"

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert app is not None, "the application was authenticated before"
        if values.get("client_id", app["client_id"]) != app["client_id"]:
            raise Missing("application")


@dataclass(frozen=True, slots=True, kw_only=True)
class AsIntegration(Access):
    """An app that acts for itself, with a JSON Web Token.

    An `{installation_id}` in the path must be the id of one of its own installations.
    """

    credentials: ClassVar[Credentials] = "jwt"

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert app is not None, "the app was authenticated before"
        number = natural(values.get("installation_id", ""))
        found = None if number is None else installations.get(db, number)
        if found is not None and found["app_id"] != app["id"]:
            raise Missing("installation")


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCode(Access):
    """Nothing but a one-time code in the path. Other credentials are ignored."""

    credentials: ClassVar[Credentials] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsInstallation(Access):
    """An installation of an app, with its token."""

    @property
    def takes_scopes(self) -> bool:
        return False

    def enter(
        self, db: Connection, caller: Caller | None, values: Mapping[str, str], app: Row | None
    ) -> None:
        assert caller is not None, "this access requires a token"
        if caller.installation_id is None:
            raise Forbidden(not_accessible(caller))


def as_app() -> AsApp:
    """Return access with an application's client id and client secret."""
    return AsApp(kinds=())


def as_integration() -> AsIntegration:
    """Return access for an app that acts for itself."""
    return AsIntegration(kinds=())


def by_code() -> ByCode:
    """Return access for everybody who knows the one-time code in the path."""
    return ByCode(anyone=True, kinds=())


def as_installation() -> AsInstallation:
    return AsInstallation(kinds=("installation",))
