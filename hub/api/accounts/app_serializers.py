"""Serializers of grants and authorizations."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.rest.serializers import SimpleUser, row_serializer, simple_user
from hub.rest.urls import Urls
from store import Row

NO_CLIENT = "0" * 20
"""The client id shown for a token without an application."""


class AuthorizationApp(TypedDict):
    url: str
    name: str
    client_id: str


class Grant(TypedDict):
    id: int
    url: str
    app: AuthorizationApp
    created_at: str
    updated_at: str
    scopes: list[str]


class AuthorizedInstallation(TypedDict):
    permissions: dict[str, str]
    repository_selection: Literal["all", "selected"]
    single_file_name: None
    has_multiple_single_files: bool
    single_file_paths: list[str]
    repositories_url: str
    account: SimpleUser


class Authorization(TypedDict):
    """An authorization. `token` is empty unless it was just created or sent by the client."""

    id: int
    url: str
    app: AuthorizationApp
    token: str
    hashed_token: str
    token_last_eight: str
    note: str | None
    note_url: str | None
    created_at: str
    updated_at: str
    scopes: list[str]
    fingerprint: str | None
    expires_at: str | None
    user: NotRequired[SimpleUser]
    installation: NotRequired[AuthorizedInstallation]


_grant = row_serializer(Grant, "url", "app")
_authorization = row_serializer(
    Authorization, "url", "app", "token", "hashed_token", "token_last_eight"
)


def grant(urls: Urls, row: Row) -> Grant:
    return _grant(row, url=urls.grant(row["id"]), app=_app(urls, row))


def authorization(urls: Urls, row: Row, token: str | None = None) -> Authorization:
    """Serialize an authorization. `token` is its value, if it may be shown."""
    return _authorization(
        row,
        url=urls.authorization(row["id"]),
        app=_app(urls, row),
        token=token or "",
        hashed_token=row["hash"],
        token_last_eight=row["last_eight"],
    )


def _app(urls: Urls, row: Row) -> AuthorizationApp:
    if row["client_id"] is None:
        return {
            "url": f"{urls.root}/docs",
            "name": f"{row['note'] or 'token'} (API)",
            "client_id": NO_CLIENT,
        }
    return {"url": row["app_url"], "name": row["app_name"], "client_id": row["client_id"]}


def installation(urls: Urls, row: Row, target: Row) -> AuthorizedInstallation:
    """Serialize the scope of a scoped token within the account `target`."""
    return {
        "permissions": row["permissions"],
        "repository_selection": "all" if row["repositories"] is None else "selected",
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "repositories_url": f"{urls.root}/user/repos",
        "account": simple_user(urls, target),
    }
