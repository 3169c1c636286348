"""Subscriptions to repositories, and the lists of watchers and watched repositories."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import by
from statement_log import statements

from store import Store
from store.accounts import accounts
from store.hooks import hooks
from store.repositories import repositories, watching

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"
MINE = "/user/subscriptions"
As = Callable[[str | None], dict[str, str]]


def token(store: Store, account: Any, **given: Any) -> dict[str, str]:
    return by(store, account, **given)


def watch(store: Store, account: Any, repo: Any) -> None:
    store.write_sync(watching.put, repo["id"], account["id"], subscribed=True, ignored=False)


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [repo["full_name"] for repo in answer.json()]


async def test_a_subscription_can_be_made_and_removed(
    hub: httpx.AsyncClient, store: Store, reader: dict[str, str]
) -> None:
    path = f"{HELLO}/subscription"
    assert_error(await hub.get(path, headers=reader), 404, "Not Found")
    answer = await hub.put(path, json={"subscribed": True, "ignored": False}, headers=reader)
    assert answer.status_code == 200
    assert answer.json() == {
        "subscribed": True,
        "ignored": False,
        "reason": None,
        "created_at": "2026-11-21T07:33:00Z",
        "url": f"{BASE}{HELLO}/subscription",
        "repository_url": f"{BASE}{HELLO}",
    }
    assert (await hub.get(path, headers=reader)).json() == answer.json()
    assert (await hub.delete(path, headers=reader)).status_code == 204
    assert_error(await hub.get(path, headers=reader), 404)
    assert (await hub.delete(path, headers=reader)).status_code == 204
    assert len(bodies(store, "repository_subscription")) == 2


@pytest.mark.parametrize(
    ("body", "subscribed", "ignored"),
    [
        (None, True, False),
        ({}, True, False),
        ({"subscribed": True}, True, False),
        ({"ignored": True}, False, True),
        ({"ignored": False}, True, False),
        ({"subscribed": True, "ignored": True}, True, True),
    ],
)
async def test_a_subscription_has_the_requested_flags(
    hub: httpx.AsyncClient, reader: dict[str, str], body: Any, subscribed: bool, ignored: bool
) -> None:
    answer = await hub.put(f"{HELLO}/subscription", json=body, headers=reader)
    shown = answer.json()
    assert (shown["subscribed"], shown["ignored"]) == (subscribed, ignored)
    assert (await hub.get(f"{HELLO}/subscription", headers=reader)).json() == shown


async def test_neither_watched_nor_ignored_is_not_subscribed(
    hub: httpx.AsyncClient, store: Store, seed: Any, reader: dict[str, str]
) -> None:
    hook = {"url": "https://receiver.example/in", "events": ["repository_subscription"]}
    store.write_sync(hooks.create, seed.hello["id"], **hook)
    path = f"{HELLO}/subscription"
    await hub.put(path, headers=reader)
    for _ in range(2):
        answer = await hub.put(path, json={"subscribed": False}, headers=reader)
        assert (answer.json()["subscribed"], answer.json()["ignored"]) == (False, False)
        assert_error(await hub.get(path, headers=reader), 404)
    actions = [event["action"] for event in bodies(store, "repository_subscription")]
    assert actions == ["updated", "deleted"]


@pytest.mark.parametrize("body", [{"subscribed": "yes"}, {"ignored": 1}, {"subscribed": None}])
async def test_flags_are_booleans(
    hub: httpx.AsyncClient, reader: dict[str, str], body: dict[str, Any]
) -> None:
    answer = await hub.put(f"{HELLO}/subscription", json=body, headers=reader)
    assert_error(answer, 422)


async def test_watching_is_an_event_once(
    hub: httpx.AsyncClient, store: Store, seed: Any, reader: dict[str, str]
) -> None:
    hook = {"url": "https://receiver.example/in", "events": ["watch"]}
    store.write_sync(hooks.create, seed.hello["id"], **hook)
    for body in ({"ignored": True}, {"subscribed": True}, {"subscribed": True, "ignored": True}):
        for _ in range(2):
            await hub.put(f"{HELLO}/subscription", json=body, headers=reader)
    (event,) = bodies(store, "watch")
    assert event.keys() == {"action", "repository", "sender"}
    assert event["action"] == "started"
    assert event["sender"]["login"] == "reader"
    assert event["repository"]["full_name"] == "octo/hello"
    assert event["repository"]["subscribers_count"] == 1
    assert event["repository"]["stargazers_count"] == 0
    own = bodies(store, "repository_subscription")
    assert [each["action"] for each in own] == ["updated"] * 3
    assert own[-1]["subscription"]["ignored"] is True
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 1


async def test_watching_sends_no_event_to_a_star_hook(
    hub: httpx.AsyncClient, store: Store, seed: Any, reader: dict[str, str]
) -> None:
    store.write_sync(
        hooks.create, seed.hello["id"], url="https://receiver.example/in", events=["*"]
    )
    await hub.put(f"{HELLO}/subscription", json={"ignored": True}, headers=reader)
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 0


async def test_watchers_are_no_stars(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: dict[str, str], reader: dict[str, str]
) -> None:
    store.write_sync(watching.set_stars, seed.hello["id"], 7)
    for who in (octo, reader):
        await hub.put(f"{HELLO}/subscription", headers=who)
    (repo,) = (await hub.get(MINE, headers=octo)).json()
    assert repo["subscribers_count"] == 2
    assert repo["watchers"] == repo["watchers_count"] == repo["stargazers_count"] == 7
    await hub.put(f"{HELLO}/subscription", json={"ignored": True}, headers=reader)
    assert (await hub.get(MINE, headers=octo)).json()[0]["subscribers_count"] == 1
    assert (await hub.get(MINE, headers=reader)).json() == []


async def test_subscribers_are_listed(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any, octo: dict[str, str]
) -> None:
    for account in (seed.reader, seed.octo):
        watch(store, account, seed.hello)
        clock.advance(1)
    answer = await hub.get(f"{HELLO}/subscribers")
    assert [user["login"] for user in answer.json()] == ["reader", "octo"]
    page = await hub.get(f"{HELLO}/subscribers?per_page=1&page=2", headers=octo)
    assert [user["login"] for user in page.json()] == ["octo"]
    assert links(page)["prev"].endswith("/subscribers?per_page=1&page=1")
    assert (await hub.get(f"{VAULT}/subscribers", headers=octo)).json() == []


async def test_a_hidden_repository_cannot_be_watched(
    hub: httpx.AsyncClient, store: Store, seed: Any, reader: dict[str, str]
) -> None:
    watch(store, seed.reader, seed.vault)
    for path in (f"{VAULT}/subscribers", f"{VAULT}/subscription"):
        assert_error(await hub.get(path, headers=reader), 404, "Not Found")
    assert_error(await hub.put(f"{VAULT}/subscription", headers=reader), 404)
    assert_error(await hub.delete(f"{VAULT}/subscription", headers=reader), 404)
    assert_error(await hub.get(f"{VAULT}/subscribers"), 404)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_subscriptions_need_a_user_s_token_with_a_repo_scope(
    hub: httpx.AsyncClient, store: Store, seed: Any, method: str
) -> None:
    path = f"{HELLO}/subscription"
    watch(store, seed.octo, seed.hello)
    assert_error(await hub.request(method, path), 401, "Requires authentication")
    for kind in ("fine_grained", "app_user", "installation"):
        permissions = {"metadata": "write", "watching": "write", "contents": "write"}
        given = token(store, seed.octo, kind=kind, permissions=permissions)
        answer = await hub.request(method, path, headers=given)
        assert answer.status_code == 403
        assert answer.json()["message"].startswith("Resource not accessible by ")
    for kind in ("personal", "oauth"):
        watch(store, seed.octo, seed.hello)
        bare = token(store, seed.octo, kind=kind)
        assert_error(await hub.request(method, path, headers=bare), 403)
        public = token(store, seed.octo, kind=kind, scopes=["public_repo"])
        for given in (bare, public):
            private = await hub.request(method, f"{VAULT}/subscription", headers=given)
            assert_error(private, 404)
        answer = await hub.request(method, path, headers=public)
        assert answer.is_success, answer.text
        assert answer.headers["X-Accepted-OAuth-Scopes"] == "repo, public_repo"


async def test_watchers_need_the_metadata_permission(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for permissions in ({"metadata": "read"}, {"contents": "write"}):
        given = token(store, seed.octo, kind="fine_grained", permissions=permissions)
        assert (await hub.get(f"{VAULT}/subscribers", headers=given)).status_code == 200
    given = token(store, seed.octo, kind="fine_grained", permissions={"contents": "read"})
    assert_error(await hub.get(f"{VAULT}/subscribers", headers=given), 403)


async def test_my_subscriptions(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any, octo: dict[str, str]
) -> None:
    for repo in (seed.vault, seed.hello):
        watch(store, seed.octo, repo)
        clock.advance(1)
    answer = await hub.get(MINE, headers=octo)
    assert names(answer) == ["octo/vault", "octo/hello"]
    first = answer.json()[0]
    assert (first["owner"]["login"], first["private"], first["license"]) == ("octo", True, None)
    page = await hub.get(f"{MINE}?per_page=1", headers=octo)
    assert names(page) == ["octo/vault"]
    assert links(page)["last"].endswith("per_page=1&page=2")
    assert_error(await hub.get(MINE), 401)
    public = token(store, seed.octo, scopes=["public_repo"])
    assert names(await hub.get(MINE, headers=public)) == ["octo/hello"]
    mine = token(store, seed.octo, scopes=["user"])
    assert names(await hub.get(MINE, headers=mine)) == ["octo/hello"]
    bare = token(store, seed.octo)
    assert_error(await hub.get(MINE, headers=bare), 403)
    # The token without scopes may still list the public repositories that a user watches.
    assert names(await hub.get("/users/octo/subscriptions", headers=bare)) == ["octo/hello"]


async def test_a_token_s_permission_shows_private_repositories(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    watch(store, seed.octo, seed.vault)
    for more, expected in (({}, []), ({"metadata": "read"}, ["octo/vault"])):
        permissions = {"watching": "read", **more}
        given = token(store, seed.octo, kind="fine_grained", permissions=permissions)
        assert names(await hub.get(MINE, headers=given)) == expected
    given = token(store, seed.octo, kind="fine_grained", permissions={"metadata": "read"})
    assert_error(await hub.get(MINE, headers=given), 403)
    given = token(store, seed.octo, kind="installation", permissions={"watching": "read"})
    assert_error(await hub.get(MINE, headers=given), 403)


async def test_my_subscriptions_are_leaving(hub: httpx.AsyncClient, octo: dict[str, str]) -> None:
    answer = await hub.get(MINE, headers=octo)
    assert "Deprecation" in answer.headers
    assert answer.headers["Sunset"] == "Fri, 10 Mar 2028 00:00:00 GMT"
    assert "users/" in answer.headers["Link"]
    assert "Deprecation" not in (await hub.get("/users/octo/subscriptions")).headers


async def test_watched_repositories_are_listed_if_they_can_be_read(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: dict[str, str], reader: dict[str, str]
) -> None:
    for repo in (seed.hello, seed.vault):
        watch(store, seed.octo, repo)
    path = "/users/OCTO/subscriptions"
    assert names(await hub.get(path)) == ["octo/hello"]
    assert names(await hub.get(path, headers=reader)) == ["octo/hello"]
    assert names(await hub.get(path, headers=octo)) == ["octo/hello", "octo/vault"]
    store.write_sync(repositories.grant, seed.vault["id"], seed.reader["id"], "read")
    assert names(await hub.get(path, headers=reader)) == ["octo/hello", "octo/vault"]
    assert_error(await hub.get("/users/nobody/subscriptions"), 404, "Not Found")


async def test_as_many_statements_for_many_as_for_one(
    hub: httpx.AsyncClient,
    store: Store,
    seed: Any,
    octo: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fill(count: int) -> None:
        for number in range(count):
            owner = store.write_sync(accounts.create, f"owner-{number}")
            watch(store, seed.octo, store.write_sync(repositories.create, owner["id"], "thing"))
            watch(store, owner, seed.hello)

    async def count(path: str) -> int:
        await hub.get(path, headers=octo)
        asked.clear()
        await hub.get(path, headers=octo)
        return len(asked)

    watch(store, seed.octo, seed.hello)
    asked = statements(monkeypatch)
    paths = (MINE, "/users/octo/subscriptions", f"{HELLO}/subscribers")
    few = [await count(path) for path in paths]
    fill(20)
    assert [await count(path) for path in paths] == few
    assert max(few) > 0
