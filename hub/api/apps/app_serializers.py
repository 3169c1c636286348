"""Serializers of apps and installations."""

from collections.abc import Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.rest.serializers import SimpleUser, row_serializer, simple_user, time
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.apps import installations
from store.clock import iso

Level = Literal["read", "write", "admin"]
Permissions = dict[str, Level]


class App(TypedDict):
    """An app. `installations_count` is shown to the app itself."""

    id: int
    slug: str
    node_id: str
    client_id: str
    owner: SimpleUser
    name: str
    description: str | None
    external_url: str
    html_url: str
    created_at: str
    updated_at: str
    permissions: Permissions
    events: list[str]
    installations_count: NotRequired[int]


class InstallationAccount(SimpleUser):
    """The account of an installation. `name` is its login if it has no name."""

    name: str
    slug: str
    created_at: str
    updated_at: str


class Installation(TypedDict):
    """An installation. Its `permissions` are those that the account has accepted."""

    id: int
    account: InstallationAccount
    repository_selection: Literal["all", "selected"]
    access_tokens_url: str
    repositories_url: str
    html_url: str
    app_id: int
    client_id: str
    app_slug: str
    target_id: int
    target_type: str
    permissions: Permissions
    events: list[str]
    created_at: str
    updated_at: str
    single_file_name: None
    has_multiple_single_files: bool
    single_file_paths: list[str]
    suspended_by: SimpleUser | None
    suspended_at: str | None


_app = row_serializer(App, "owner", "external_url", "html_url", kind="App")


def app(urls: Urls, db: Connection, row: Row) -> App:
    """Serialize an app as everybody who may see it sees it."""
    return _app(
        row,
        owner=simple_user(urls, accounts.required(db, row["owner_id"])),
        external_url=row["url"],
        html_url=urls.app_page(row["slug"]),
    )


def own_app(urls: Urls, db: Connection, row: Row) -> App:
    """Serialize an app as it sees itself."""
    return {**app(urls, db, row), "installations_count": installations.count(db, row["id"])}


def installation(urls: Urls, db: Connection, row: Row) -> Installation:
    (shown,) = several(urls, db, [row])
    return shown


def several(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[Installation]:
    """Serialize installations, with as few statements as for one."""
    ids = [row[name] for row in rows for name in ("account_id", "suspended_by")]
    people = accounts.of(db, (number for number in ids if number is not None))
    return [_installation(urls, row, people) for row in rows]


def _account(urls: Urls, row: Row) -> InstallationAccount:
    return {
        **simple_user(urls, row),
        "name": row["name"] or row["login"],
        "slug": row["login"].lower(),
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
    }


def _installation(urls: Urls, row: Row, people: dict[int, Row]) -> Installation:
    suspender = people.get(row["suspended_by"])
    return {
        "id": row["id"],
        "account": _account(urls, people[row["account_id"]]),
        "repository_selection": selection(row["every_repository"]),
        "access_tokens_url": urls.access_tokens(row["id"]),
        "repositories_url": f"{urls.root}/installation/repositories",
        "html_url": urls.installation_page(row),
        "app_id": row["app_id"],
        "client_id": row["client_id"],
        "app_slug": row["slug"],
        "target_id": row["account_id"],
        "target_type": row["account_kind"],
        "permissions": row["permissions"],
        "events": row["events"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None if suspender is None else simple_user(urls, suspender),
        "suspended_at": time(row["suspended_at"]),
    }


def selection(every: bool) -> Literal["all", "selected"]:
    """Return the word for all repositories of an account, or for chosen ones."""
    return "all" if every else "selected"
