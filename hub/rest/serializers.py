"""Serializers that several groups share."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.clock import iso
from store.formats import node_ids

T = TypeVar("T")


def time(moment: int | None) -> str | None:
    """Return a time in ISO 8601, or None for None."""
    return None if moment is None else iso(moment)


node_id = node_ids.node_id


def row_serializer(shape: type[T], *given: str, kind: str | None = None) -> Callable[..., T]:
    """Return a function that serializes a row as `shape`: its required members, in its order.

    A call has a keyword argument for each of the members `given`. The others are copies of the
    columns with the same names. Columns whose names end in `_at` are times. With `kind`, the
    `node_id` follows from the `id`.
    """
    typed: Any = shape
    names = [name for name in typed.__annotations__ if name in typed.__required_keys__]
    assert {*given} <= {*names}, f"{shape.__name__} has no such required members"
    values = {name: _copy(name, typed.__annotations__[name]) for name in names}
    values |= {name: name for name in given}
    if kind is not None:
        values["node_id"] = f"node_id({kind!r}, {values['id']})"
    members = ", ".join(f"{name!r}: {value}" for name, value in values.items())
    source = f"lambda {', '.join(('row', *given))}: {{{members}}}"
    # A dict that is written out takes half the time of one that is filled by a loop.
    found = eval(source, {"iso": iso, "node_id": node_id, "time": time})  # noqa: S307  # the names are the type's
    serialize: Callable[..., T] = found
    return serialize


def _copy(name: str, member_type: Any) -> str:
    """Return the expression for a copy of a column as a member of this type."""
    moment = "iso" if member_type is str else "time"
    return f"{moment}(row[{name!r}])" if name.endswith("_at") else f"row[{name!r}]"


class EmptyObject(TypedDict):
    """An empty object."""


class SimpleUser(TypedDict):
    login: str
    id: int
    node_id: str
    avatar_url: str
    gravatar_id: str
    url: str
    html_url: str
    followers_url: str
    following_url: str
    gists_url: str
    starred_url: str
    subscriptions_url: str
    organizations_url: str
    repos_url: str
    events_url: str
    received_events_url: str
    type: str
    site_admin: bool


def simple_user(urls: Urls, account: Row) -> SimpleUser:
    """Serialize an account in its short form."""
    url = urls.user(account["login"])
    return {
        "login": account["login"],
        "id": account["id"],
        "node_id": node_id(account["kind"], account["id"]),
        "avatar_url": urls.avatar(account["id"]),
        "gravatar_id": "",
        "url": url,
        "html_url": urls.profile(account["login"]),
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": account["kind"],
        "site_admin": bool(account["site_admin"]),
    }


def simple_users(urls: Urls, db: Connection, ids: Iterable[int | None]) -> dict[int, SimpleUser]:
    """Serialize the accounts with these ids in their short form, by id. None is skipped."""
    wanted = {each for each in ids if each is not None}
    found = accounts.of(db, wanted) if wanted else {}
    return {number: simple_user(urls, row) for number, row in found.items()}


class HookConfig(TypedDict):
    """The configuration of a hook. `secret` is masked, and present only if there is a secret."""

    url: str
    content_type: str
    insecure_ssl: Literal["0", "1"]
    secret: NotRequired[str]


class HookResponse(TypedDict):
    code: int | None
    status: str
    message: str | None


class SystemHook(TypedDict):
    """The members that hooks of all kinds have."""

    type: str
    id: int
    name: Literal["web"]
    active: bool
    events: list[str]
    config: HookConfig
    updated_at: str
    created_at: str
    disabled_reason: str | None
    paused_at: str | None
    pause_reason: str | None
    certificate_ends_at: str | None
    handshake: str | None
    handshake_rate: int | None
    delivery: dict[str, Any]


class OrganizationHook(SystemHook):
    url: str
    ping_url: str
    deliveries_url: str


class AppHook(SystemHook):
    app_id: int


class Hook(OrganizationHook):
    test_url: str
    last_response: HookResponse


HIDDEN = "********"


def hook_config(hook: Row) -> HookConfig:
    """Serialize a hook's URL and delivery options."""
    config: HookConfig = {
        "content_type": hook["content_type"],
        "insecure_ssl": "1" if hook["insecure_ssl"] else "0",
        "url": hook["url"],
    }
    if hook["secret"] is not None:
        config["secret"] = HIDDEN
    return config


def hook(urls: Urls, repo: Row, row: Row, last: Row | None) -> Hook:
    """Serialize a repository's hook. `last` is its latest attempt."""
    url = urls.hook(repo, row["id"])
    return {
        **_hook_at(row, "Repository", url),
        "test_url": f"{url}/tests",
        "last_response": hook_response(last),
    }


def organization_hook(urls: Urls, organization: Row, row: Row) -> OrganizationHook:
    return _hook_at(row, "Organization", urls.organization_hook(organization["login"], row["id"]))


def _hook_at(row: Row, kind: str, url: str) -> OrganizationHook:
    return {
        **system_hook(row, kind),
        "url": url,
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
    }


def app_hook(row: Row) -> AppHook:
    return {**system_hook(row, "App"), "app_id": row["app_id"]}


_system_hook = row_serializer(SystemHook, "type", "name", "active", "config", "delivery")


def system_hook(row: Row, kind: str = "System") -> SystemHook:
    """Serialize a hook of the whole installation, which the API does not have."""
    return _system_hook(
        row,
        type=kind,
        name="web",
        active=bool(row["active"]),
        config=hook_config(row),
        delivery=row["options"],
    )


def hook_response(last: Row | None) -> HookResponse:
    """Serialize the receiver's latest response."""
    if last is None:
        return {"code": None, "status": "unused", "message": None}
    outcome = outcome_of(last)
    status = "active" if outcome == "OK" else "failed"
    return {"code": last["status_code"], "status": status, "message": outcome}


def outcome_of(attempt: Row) -> str:
    """Return `OK`, or a description of the failure."""
    if attempt["error"] is not None:
        return str(attempt["error"])
    code = attempt["status_code"]
    return "OK" if 200 <= code <= 299 else f"Invalid HTTP Response: {code}"
