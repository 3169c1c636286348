"""Caps on open pull requests, and the bypass list."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies
from bearer import by
from hub_client import open_client

from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts
from store.repositories import repositories

ORG = "/orgs/tower/interaction-limits/pulls/creation-cap"
HELLO = "/repos/octo/hello/interaction-limits/pulls/creation-cap"
VAULT = "/repos/octo/vault/interaction-limits/pulls/creation-cap"
LIST = "/repos/octo/hello/interaction-limits/pulls/bypass-list"


@pytest.fixture
async def hub(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a token of octo. octo owns the organization tower, and reader is a member."""
    tower = store.write_sync(accounts.create, "tower", kind="Organization")
    store.write_sync(accounts.join, tower["id"], seed.octo["id"], "admin")
    store.write_sync(accounts.join, tower["id"], seed.reader["id"], "member")
    headers = by(store, seed.octo, scopes=["repo", "admin:org"])
    async with open_client(store, settings, headers=headers) as opened:
        yield opened


@pytest.mark.parametrize("path", [ORG, HELLO])
async def test_a_cap_of_pull_requests_is_set(
    hub: httpx.AsyncClient, store: Store, path: str
) -> None:
    off = {"enabled": False, "max_open_pull_requests": 10}
    assert (await hub.get(path)).json() == off
    for body, expected in (
        ({"enabled": False}, off),
        ({"enabled": True}, off | {"enabled": True}),
        ({"enabled": True, "max_open_pull_requests": 10}, off | {"enabled": True}),
        ({"enabled": True, "max_open_pull_requests": 1}, (True, 1)),
        ({"enabled": False}, (False, 1)),
        ({"enabled": True, "max_open_pull_requests": 1000}, (True, 1000)),
    ):
        if isinstance(expected, tuple):
            expected = dict(zip(off, expected, strict=True))
        answer = await hub.patch(path, json=body)
        assert (answer.status_code, answer.json()) == (200, expected)
        assert (await hub.get(path)).json() == expected
    reported = bodies(store, "pull_request_creation_cap")
    assert [each["action"] for each in reported] == ["changed"] * 4
    assert reported[-1]["pull_request_creation_cap"] == expected
    whose = reported[-1].get("organization") or reported[-1]["repository"]["owner"]
    assert whose["login"] in ("tower", "octo")


async def test_each_has_its_own(hub: httpx.AsyncClient) -> None:
    await hub.patch(ORG, json={"enabled": True, "max_open_pull_requests": 3})
    await hub.patch(HELLO, json={"enabled": True, "max_open_pull_requests": 5})
    assert (await hub.get(ORG)).json()["max_open_pull_requests"] == 3
    assert (await hub.get(HELLO)).json()["max_open_pull_requests"] == 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"max_open_pull_requests": 5},
        {"enabled": "yes"},
        {"enabled": None},
        *({"enabled": True, "max_open_pull_requests": most} for most in (0, 1001, -1, "5", 1.5)),
        {"enabled": True, "max_open_pull_requests": None},
    ],
)
@pytest.mark.parametrize("path", [ORG, HELLO])
async def test_an_invalid_cap_is_rejected(
    hub: httpx.AsyncClient, store: Store, path: str, body: Any
) -> None:
    assert_error(await hub.patch(path, json=body), 422)
    assert bodies(store, "pull_request_creation_cap") == []


async def test_private_repositories_have_none(hub: httpx.AsyncClient, store: Store) -> None:
    for answer in (await hub.get(VAULT), await hub.patch(VAULT, json={"enabled": True})):
        assert_error(answer, 405)
        assert answer.headers["Allow"] == ""
    assert bodies(store, "pull_request_creation_cap") == []


async def test_administrators_may_set_a_cap(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    reader = by(store, seed.reader, scopes=["repo", "admin:org"])
    for method in ("GET", "PATCH"):
        given = {"json": {"enabled": True}} if method == "PATCH" else {}
        for kind in ("personal", "oauth"):
            for scopes in ([], ["gist"], ["read:org", "read:user"], ["public_repo"]):
                bare = by(store, seed.octo, kind=kind, scopes=scopes)
                assert_error(await hub.request(method, ORG, headers=bare, **given), 403)
        for path in (ORG, HELLO):
            assert_error(await hub.request(method, path, headers=reader, **given), 403)
        assert_error(await hub.request(method, VAULT, headers=reader, **given), 404)
    for path, name in ((ORG, "organization_administration"), (HELLO, "administration")):
        for level, expected in (("read", 403), ("write", 200)):
            given = by(store, seed.octo, kind="fine_grained", permissions={name: level})
            assert (await hub.get(path, headers=given)).status_code == expected


async def logins(hub: httpx.AsyncClient) -> list[str]:
    answer = await hub.get(LIST)
    assert answer.status_code == 200
    return [user["login"] for user in answer.json()]


async def change(hub: httpx.AsyncClient, method: str, *users: str) -> httpx.Response:
    return await hub.request(method, LIST, json={"users": list(users)})


def many(db: Connection, count: int) -> None:
    for number in range(count):
        accounts.create(db, f"user-{number}")


async def test_users_are_added_to_and_removed_from_the_bypass_list(
    hub: httpx.AsyncClient, store: Store
) -> None:
    store.write_sync(many, 3)
    assert await logins(hub) == []
    assert (await change(hub, "PUT", "user-1", "USER-0", "user-0")).status_code == 204
    assert (await change(hub, "PUT", "user-2", "user-1")).status_code == 204
    assert await logins(hub) == ["user-0", "user-1", "user-2"]
    assert (await change(hub, "PUT", "user-1")).status_code == 204
    assert (await change(hub, "PUT")).status_code == 204
    assert (await change(hub, "DELETE", "User-1", "reader")).status_code == 204
    assert (await change(hub, "DELETE", "user-1")).status_code == 204
    assert await logins(hub) == ["user-0", "user-2"]
    reported = [
        (each["action"], [user["login"] for user in each["users"]])
        for each in bodies(store, "pull_request_bypass_list")
    ]
    assert reported == [
        ("added", ["user-0", "user-1"]),
        ("added", ["user-2"]),
        ("removed", ["user-1"]),
    ]


async def test_the_bypass_list_has_a_hundred_users_at_most(
    hub: httpx.AsyncClient, store: Store
) -> None:
    store.write_sync(many, 101)
    names = [f"user-{number}" for number in range(101)]
    assert_error(await change(hub, "PUT", *names), 422)
    assert (await change(hub, "PUT", *names[:60])).status_code == 204
    error = assert_error(await change(hub, "PUT", *names[50:]), 422, code="unprocessable")
    assert error["errors"][0]["message"] == "The bypass list holds at most 100 users."
    assert len(await logins(hub)) == 60
    assert (await change(hub, "PUT", *names[:100])).status_code == 204
    assert len(await logins(hub)) == 100
    assert_error(await change(hub, "PUT", names[100]), 422)
    assert (await change(hub, "DELETE", *names[:100])).status_code == 204
    assert await logins(hub) == []


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_one_wrong_user_refuses_the_whole_change(
    hub: httpx.AsyncClient, store: Store, method: str
) -> None:
    store.write_sync(many, 2)
    await change(hub, "PUT", "user-0")
    for users in (["user-1", "nobody"], ["user-1", "tower"], ["user-1", ""], ["x" * 101], [7]):
        answer = await hub.request(method, LIST, json={"users": users})
        assert_error(answer, 422)
    for body in ({}, {"users": "user-1"}, {"users": None}, {"users": ["a\0b"]}):
        assert_error(await hub.request(method, LIST, json=body), 422)
    assert await logins(hub) == ["user-0"]


async def test_the_bypass_list_needs_a_maintainer(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    body = {"users": ["octo"]}
    reader = by(store, seed.reader, scopes=["repo"])
    for role, expected in (("write", {403}), ("maintain", {200, 204})):
        store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], role)
        for method in ("GET", "PUT", "DELETE"):
            given = {} if method == "GET" else {"json": body}
            answer = await hub.request(method, LIST, headers=reader, **given)
            assert answer.status_code in expected
    seeing = by(store, seed.octo, kind="fine_grained", permissions={"administration": "read"})
    assert_error(await hub.get(LIST, headers=seeing), 403)
