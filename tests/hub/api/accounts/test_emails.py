"""The email addresses of the authenticated user."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies, links
from bearer import by
from hub_client import open_client

from hub.settings import HubSettings
from store import Store
from store.accounts import emails

EMAILS, VISIBILITY, PUBLIC = "/user/emails", "/user/email/visibility", "/user/public_emails"
FIRST, SECOND, THIRD = "octo@tower.example", "o@tower.example", "third@tower.example"


@pytest.fixture
async def hub(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a token of octo that may read and change octo's addresses."""
    headers = by(store, seed.octo, scopes=["user"])
    async with open_client(store, settings, headers=headers) as opened:
        yield opened


async def remove(hub: httpx.AsyncClient, body: Any) -> httpx.Response:
    return await hub.request("DELETE", EMAILS, json=body)


async def listed(hub: httpx.AsyncClient) -> list[str]:
    answer = await hub.get(EMAILS)
    assert answer.status_code == 200
    return [each["email"] for each in answer.json()]


@pytest.mark.parametrize("body", [{"emails": [FIRST, SECOND]}, [FIRST, SECOND]])
async def test_addresses_are_added(hub: httpx.AsyncClient, body: Any) -> None:
    answer = await hub.post(EMAILS, json=body)
    assert answer.status_code == 201
    first = {"email": FIRST, "primary": True, "verified": False, "visibility": "private"}
    second = {"email": SECOND, "primary": False, "verified": False, "visibility": None}
    assert answer.json() == [first, second]
    assert (await hub.get(EMAILS)).json() == [first, second]


async def test_one_address_can_be_given_as_a_string(hub: httpx.AsyncClient) -> None:
    answer = await hub.post(EMAILS, json=FIRST)
    assert answer.status_code == 201
    (shown,) = answer.json()
    assert shown["email"] == FIRST
    await hub.post(EMAILS, json=SECOND)
    assert (await remove(hub, SECOND)).status_code == 204
    assert await listed(hub) == [FIRST]


@pytest.mark.parametrize(
    "body", [{}, None, {"emails": []}, [], {"emails": None}, {"emails": [1]}, 7, [[FIRST]], True]
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_invalid_bodies_are_rejected(hub: httpx.AsyncClient, method: str, body: Any) -> None:
    assert_error(await hub.request(method, EMAILS, json=body), 422)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_malformed_json_of_emails(hub: httpx.AsyncClient, method: str) -> None:
    answer = await hub.request(method, EMAILS, content=b"{")
    assert_error(answer, 400, "Problems parsing JSON")


@pytest.mark.parametrize("address", ["octo", "a@b", "a b@tower.example", "", "a@b.example\n"])
async def test_an_invalid_address_is_rejected(hub: httpx.AsyncClient, address: str) -> None:
    answer = await hub.post(EMAILS, json=[FIRST, address])
    assert_error(answer, 422, "Validation Failed", code="invalid")
    assert await listed(hub) == []


@pytest.mark.parametrize("address", ["a\0@tower.example", "a" * 321])
async def test_malformed_addresses_are_rejected_at_once(
    hub: httpx.AsyncClient, address: str
) -> None:
    for method in ("POST", "DELETE"):
        assert_error(await hub.request(method, EMAILS, json=[address]), 422)


async def test_a_taken_address_is_refused(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    store.write_sync(emails.add, seed.reader["id"], ["reader@tower.example"])
    for taken in ("Reader@TOWER.example", FIRST.upper()):
        await hub.post(EMAILS, json=FIRST)
        answer = await hub.post(EMAILS, json=[SECOND, taken])
        content = assert_error(answer, 422, "Validation Failed", code="already_exists")
        assert content["errors"][0]["resource"] == "Email"
        assert content["errors"][0]["field"] == "emails"
    assert await listed(hub) == [FIRST]


async def test_a_verified_primary_and_the_last_verified_address_stay(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await hub.post(EMAILS, json=[FIRST, SECOND])
    first, second = store.read_sync(emails.of, seed.octo["id"], [FIRST, SECOND])
    store.write_sync(emails.verify, first["id"])
    answer = await remove(hub, [SECOND, FIRST])
    content = assert_error(answer, 422, "Validation Failed", code="custom")
    assert "primary" in content["errors"][0]["message"]
    store.write_sync(emails.verify, first["id"], False)
    store.write_sync(emails.verify, second["id"])
    answer = await remove(hub, {"emails": [SECOND]})
    content = assert_error(answer, 422, code="custom")
    assert "last verified" in content["errors"][0]["message"]
    assert await listed(hub) == [FIRST, SECOND]


async def test_the_next_address_follows_an_unverified_primary(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await hub.post(EMAILS, json=[FIRST, SECOND, THIRD])
    (third,) = store.read_sync(emails.of, seed.octo["id"], [THIRD])
    store.write_sync(emails.verify, third["id"])
    assert (await remove(hub, FIRST)).status_code == 204
    shown = (await hub.get(EMAILS)).json()
    assert [(one["email"], one["primary"], one["visibility"]) for one in shown] == [
        (THIRD, True, "private"),
        (SECOND, False, None),
    ]


async def test_the_only_address_can_be_removed(hub: httpx.AsyncClient) -> None:
    await hub.post(EMAILS, json={"emails": FIRST})
    assert (await remove(hub, {"emails": FIRST})).status_code == 204
    assert await listed(hub) == []
    await hub.post(EMAILS, json=[SECOND])
    assert (await hub.get(EMAILS)).json()[0]["primary"] is True


async def test_an_address_of_a_private_network_is_accepted(hub: httpx.AsyncClient) -> None:
    assert (await hub.post(EMAILS, json=["ada@mail.test", "ada@lab.local"])).status_code == 201


async def test_removing_an_unknown_email_is_not_found(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(emails.add, seed.reader["id"], ["reader@tower.example", "r@tower.example"])
    await hub.post(EMAILS, json=[FIRST, SECOND])
    for other in ("r@tower.example", "nobody@tower.example", "nothing"):
        assert_error(await remove(hub, [SECOND, other]), 404, "Not Found")
    assert await listed(hub) == [FIRST, SECOND]
    assert (await remove(hub, {"emails": [SECOND.upper(), SECOND]})).status_code == 204
    assert await listed(hub) == [FIRST]


async def test_the_visibility_of_the_primary_email_can_be_changed(hub: httpx.AsyncClient) -> None:
    assert_error(await hub.patch(VISIBILITY, json={"visibility": "public"}), 404)
    await hub.post(EMAILS, json=[FIRST, SECOND])
    assert (await hub.get(PUBLIC)).json() == []
    answer = await hub.patch(VISIBILITY, json={"visibility": "public"})
    shown = {"email": FIRST, "primary": True, "verified": False, "visibility": "public"}
    assert (answer.status_code, answer.json()) == (200, [shown])
    assert (await hub.get(PUBLIC)).json() == [shown]
    await hub.patch(VISIBILITY, json={"visibility": "private"})
    assert (await hub.get(PUBLIC)).json() == []


@pytest.mark.parametrize("body", [{}, {"visibility": "hidden"}, {"visibility": None}])
async def test_invalid_visibilities_are_rejected(
    hub: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    assert_error(await hub.patch(VISIBILITY, json=body), 422)


async def test_emails_in_pages(hub: httpx.AsyncClient) -> None:
    await hub.post(EMAILS, json=[f"a{number}@tower.example" for number in range(5)])
    answer = await hub.get(f"{EMAILS}?per_page=2&page=2")
    assert [each["email"][:2] for each in answer.json()] == ["a2", "a3"]
    assert links(answer)["last"].endswith("per_page=2&page=3")


async def test_email_events_leave_out_the_address(hub: httpx.AsyncClient, store: Store) -> None:
    await hub.post(EMAILS, json=[FIRST, SECOND])
    for _ in range(2):
        await hub.patch(VISIBILITY, json={"visibility": "public"})
    await remove(hub, SECOND)
    reported = bodies(store, "email")
    actions = ["added", "added", "visibility_changed", "removed"]
    assert [each["action"] for each in reported] == actions
    assert reported[2]["email"] == {"primary": True, "verified": False, "visibility": "public"}
    assert all(each["sender"]["login"] == "octo" for each in reported)
    assert "@" not in str(reported)


async def test_a_refused_change_is_no_event(hub: httpx.AsyncClient, store: Store) -> None:
    await hub.post(EMAILS, json=[SECOND, "nothing"])
    assert bodies(store, "email") == []


CALLS = [
    ("GET", EMAILS, None, "user:email", "read"),
    ("GET", PUBLIC, None, "user:email", "read"),
    ("POST", EMAILS, [SECOND], "user", "write"),
    ("DELETE", EMAILS, [SECOND], "user", "write"),
    ("PATCH", VISIBILITY, {"visibility": "public"}, "user", "write"),
]


@pytest.mark.parametrize(("method", "path", "body", "scope", "level"), CALLS)
async def test_emails_need_a_user_scope_or_permission(
    hub: httpx.AsyncClient,
    store: Store,
    seed: Any,
    method: str,
    path: str,
    body: Any,
    scope: str,
    level: str,
) -> None:
    wanted = [FIRST] if method == "POST" else [FIRST, SECOND]
    store.write_sync(emails.add, seed.octo["id"], wanted)

    async def status(**given: Any) -> int:
        headers = by(store, seed.octo, **given)
        return (await hub.request(method, path, json=body, headers=headers)).status_code

    anonymous = {"Authorization": ""}
    answer = await hub.request(method, path, json=body, headers=anonymous)
    assert answer.status_code == 401
    assert await status(scopes=["repo", "read:user"]) == 403
    permissions = {"email_addresses": level}
    assert await status(kind="fine_grained", permissions={"metadata": "read"}) == 403
    assert await status(kind="installation", permissions=permissions) == 403
    if level == "write":
        assert await status(scopes=["user:email"]) == 403
        assert await status(kind="fine_grained", permissions={"email_addresses": "read"}) == 403
    assert await status(kind="fine_grained", permissions=permissions) < 300


@pytest.mark.parametrize(("method", "path", "body", "scope", "level"), CALLS)
async def test_the_scope_is_enough(
    hub: httpx.AsyncClient,
    store: Store,
    seed: Any,
    method: str,
    path: str,
    body: Any,
    scope: str,
    level: str,
) -> None:
    store.write_sync(emails.add, seed.octo["id"], [FIRST] if method == "POST" else [FIRST, SECOND])
    headers = by(store, seed.octo, scopes=[scope])
    answer = await hub.request(method, path, json=body, headers=headers)
    assert answer.is_success, answer.text
    assert answer.headers["X-Accepted-OAuth-Scopes"] == scope
