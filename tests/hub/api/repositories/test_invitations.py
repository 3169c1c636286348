"""Invitations of collaborators, and how users accept or decline them."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import Headers, bearer, by

from store import Connection, Row, Store
from store.accounts import accounts, sso, tokens
from store.clock import DAY, SECOND, MovableClock
from store.hooks import hooks
from store.repositories import invitations, membership_dump, repositories

SENT = "/repos/octo/hello/invitations"
MINE = "/user/repository_invitations"
PEOPLE = "/repos/octo/hello/collaborators"


@pytest.fixture
def reader(store: Store, seed: Any) -> Headers:
    return by(store, seed.reader, scopes=["repo:invite"])


async def invite(
    client: httpx.AsyncClient, login: str = "reader", permission: str | None = None, **how: Any
) -> dict[str, Any]:
    body = None if permission is None else {"permission": permission}
    answer = await client.put(f"{PEOPLE}/{login}", json=body, **how)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def role(store: Store, repo: Row, account: Row) -> str | None:
    return store.read_sync(membership_dump.granted, repo["id"], account["id"])


def reported(store: Store, name: str = "repository_invitation") -> list[str]:
    return [body["action"] for body in bodies(store, name)]


def guests(db: Connection, many: int) -> None:
    for number in range(many):
        accounts.create(db, f"guest-{number}")


async def test_an_invitation_is_created_and_shown_to_the_invitee(
    client: httpx.AsyncClient, seed: Any, reader: Headers
) -> None:
    answer = await client.put(f"{PEOPLE}/READER")
    shown = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"{BASE}{MINE}/{shown['id']}"
    repository, node_id = shown.pop("repository"), shown.pop("node_id")
    people = {name: shown.pop(name)["login"] for name in ("invitee", "inviter")}
    assert shown == {
        "id": shown["id"],
        "permissions": "write",
        "created_at": "2026-11-21T07:33:00Z",
        "expired": False,
        "url": f"{BASE}{MINE}/{shown['id']}",
        "html_url": "https://forge.example/octo/hello/invitations",
    }
    assert node_id
    assert people == {"invitee": "reader", "inviter": "octo"}
    assert repository["full_name"] == "octo/hello"
    for path, who in ((SENT, None), (MINE, reader)):
        assert (await client.get(path, headers=who)).json() == [answer.json()]
    assert (await client.get(MINE)).json() == []


@pytest.mark.parametrize(
    ("permission", "expected"),
    [
        (None, "write"),
        ("pull", "read"),
        ("push", "write"),
        *((name, name) for name in ("read", "triage", "write", "maintain", "admin")),
    ],
)
async def test_accepting_makes_a_collaborator(
    client: httpx.AsyncClient,
    store: Store,
    seed: Any,
    reader: Headers,
    permission: str | None,
    expected: str,
) -> None:
    shown = await invite(client, permission=permission)
    assert shown["permissions"] == expected
    assert role(store, seed.hello, seed.reader) is None
    path = f"{MINE}/{shown['id']}"
    assert (await client.patch(path, headers=reader)).status_code == 204
    assert role(store, seed.hello, seed.reader) == expected
    assert (await client.get(SENT)).json() == (await client.get(MINE, headers=reader)).json() == []
    assert_error(await client.patch(path, headers=reader), 404)
    assert_error(await client.delete(path, headers=reader), 404)
    assert reported(store) == ["created", "accepted"]
    (member,) = bodies(store, "member")
    assert member["action"] == "added"
    assert member["member"]["login"] == member["sender"]["login"] == "reader"
    assert member["changes"] == {
        "permission": {"to": {"triage": "read", "maintain": "write"}.get(expected, expected)},
        "role_name": {"to": expected},
    }
    assert member["repository"]["full_name"] == "octo/hello"


async def test_an_invitation_is_declined(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers
) -> None:
    path = f"{MINE}/{(await invite(client))['id']}"
    assert (await client.delete(path, headers=reader)).status_code == 204
    assert_error(await client.delete(path, headers=reader), 404)
    assert role(store, seed.hello, seed.reader) is None
    assert (await client.get(SENT)).json() == []
    assert reported(store) == ["created", "declined"]
    assert reported(store, "member") == []


async def test_an_invitation_is_withdrawn(
    client: httpx.AsyncClient, store: Store, reader: Headers
) -> None:
    shown = await invite(client)
    path = f"{SENT}/{shown['id']}"
    assert (await client.delete(path)).status_code == 204
    assert_error(await client.delete(path), 404)
    assert_error(await client.patch(f"{MINE}/{shown['id']}", headers=reader), 404)
    assert reported(store) == ["created", "deleted"]


async def test_the_permission_of_an_invitation_can_be_changed(
    client: httpx.AsyncClient, store: Store, reader: Headers
) -> None:
    shown = await invite(client)
    path = f"{SENT}/{shown['id']}"
    for body in (None, {}, {"permissions": "write"}):
        assert (await client.patch(path, json=body)).json() == shown
    assert reported(store) == ["created"]
    for name in ("read", "triage", "maintain", "admin", "write"):
        answer = await client.patch(path, json={"permissions": name})
        assert answer.json() == shown | {"permissions": name}
    for body in ({"permissions": "push"}, {"permissions": None}, {"permissions": 7}):
        assert_error(await client.patch(path, json=body), 422)
    assert (await client.get(MINE, headers=reader)).json() == [shown]
    assert reported(store) == ["created"] + ["edited"] * 5


async def test_once_more_it_is_the_same_invitation_for_longer(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    first = await invite(client)
    clock.advance(6 * 86_400)
    again = await invite(client, permission="pull")
    assert again == first | {"permissions": "read"}
    clock.advance(6 * 86_400)
    assert (await client.get(SENT)).json() == [again]
    assert reported(store) == ["created", "edited"]


async def test_after_seven_days_it_is_gone(
    client: httpx.AsyncClient, store: Store, reader: Headers, clock: MovableClock
) -> None:
    shown = await invite(client)
    clock.advance(7 * DAY / SECOND - 0.000001)
    assert (await client.get(MINE, headers=reader)).json() == [shown]
    clock.advance(0.000001)
    for path, who in ((SENT, None), (MINE, reader)):
        assert (await client.get(path, headers=who)).json() == []
    for method in ("PATCH", "DELETE"):
        for path, who in ((SENT, None), (MINE, reader)):
            answer = await client.request(method, f"{path}/{shown['id']}", headers=who)
            assert_error(answer, 404)
    assert (await invite(client))["id"] != shown["id"]
    assert reported(store) == ["created", "created"]


async def test_a_collaborator_gets_a_role_without_an_invitation(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], "triage")
    for permission, expected in ((None, "triage"), ("triage", "triage"), ("admin", "admin")):
        body = None if permission is None else {"permission": permission}
        answer = await client.put(f"{PEOPLE}/reader", json=body)
        assert (answer.status_code, answer.content) == (204, b"")
        assert role(store, seed.hello, seed.reader) == expected
    (member,) = bodies(store, "member")
    assert member["action"] == "edited"
    assert member["changes"] == {
        "permission": {"from": "read", "to": "admin"},
        "role_name": {"from": "triage", "to": "admin"},
    }
    assert reported(store) == []


async def test_a_member_gets_a_role_without_an_invitation(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    tower = store.write_sync(accounts.create, "tower", kind="Organization")
    bells = store.write_sync(repositories.create, tower["id"], "bells")
    store.write_sync(accounts.join, tower["id"], seed.octo["id"], "admin")
    path = "/repos/tower/bells/collaborators/reader"
    assert (await client.put(path)).status_code == 201
    store.write_sync(accounts.join, tower["id"], seed.reader["id"], "member")
    assert (await client.put(path, json={"permission": "maintain"})).status_code == 204
    assert role(store, bells, seed.reader) == "maintain"
    # The new role removes the earlier invitation.
    assert (await client.get("/repos/tower/bells/invitations")).json() == []
    assert reported(store) == ["created", "deleted"]
    assert reported(store, "member") == ["added"]


@pytest.mark.parametrize(("before", "after"), [("read", "write"), ("admin", "admin")])
async def test_accepting_never_lowers_a_role(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers, before: str, after: str
) -> None:
    shown = await invite(client)
    store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], before)
    assert (await client.patch(f"{MINE}/{shown['id']}", headers=reader)).status_code == 204
    assert role(store, seed.hello, seed.reader) == after
    assert reported(store, "member") == (["edited"] if before == "read" else [])


async def test_wrong_invitations_are_refused(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(accounts.create, "tower", kind="Organization")
    assert_error(await client.put(f"{PEOPLE}/nobody"), 404)
    for login in ("octo", "tower"):
        assert_error(await client.put(f"{PEOPLE}/{login}"), 422, code="unprocessable")
    for permission in ("owner", "", "Write", 7, None):
        answer = await client.put(f"{PEOPLE}/reader", json={"permission": permission})
        assert_error(answer, 422)
    assert (await client.get(SENT)).json() == []
    assert reported(store) == []


async def test_fifty_invitations_a_day_are_allowed(
    client: httpx.AsyncClient, store: Store, seed: Any, clock: MovableClock
) -> None:
    store.write_sync(guests, 54)
    for number in range(50):
        shown = await invite(client, f"guest-{number}")
        if number == 0:
            clock.advance(3600)
            await client.delete(f"{SENT}/{shown['id']}")
    before = reported(store)
    answer = await client.put(f"{PEOPLE}/guest-51")
    assert_error(answer, 403)
    assert answer.headers["Retry-After"] == str(23 * 3600 + 1)
    assert reported(store) == before
    # A change of an open invitation is no new one.
    for permission in ("read", "write"):
        changed = await client.put(f"{PEOPLE}/guest-1", json={"permission": permission})
        assert (changed.status_code, changed.json()["permissions"]) == (201, permission)
    # Each repository has its own limit of 50. A day later, the first invitation no longer counts.
    other = await client.put("/repos/octo/vault/collaborators/reader")
    assert other.status_code == 201
    clock.advance(23 * 3600)
    assert (await client.put(f"{PEOPLE}/guest-51")).status_code == 201
    assert_error(await client.put(f"{PEOPLE}/guest-52"), 403)


async def test_invitations_emit_events(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers
) -> None:
    hook = {"url": "https://receiver.example/in", "events": ["repository_invitation", "member"]}
    store.write_sync(hooks.create, seed.hello["id"], **hook)
    store.write_sync(
        accounts.update, seed.reader["id"], name="Reader", email="reader@tower.example"
    )
    shown = await invite(client)
    await client.patch(f"{MINE}/{shown['id']}", headers=reader)
    created, accepted = bodies(store, "repository_invitation")
    assert created.keys() == {"action", "invitation", "repository", "sender"}
    assert "repository" not in created["invitation"]
    assert created["sender"]["login"] == "octo"
    assert accepted["sender"]["login"] == "reader"
    assert "tower.example" not in str([created, accepted, *bodies(store, "member")])
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 3


async def test_invitations_in_pages(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    store.write_sync(guests, 5)
    for number in range(5):
        await invite(client, f"guest-{number}")
    answer = await client.get(f"{SENT}?per_page=2&page=2")
    assert [each["invitee"]["login"] for each in answer.json()] == ["guest-2", "guest-3"]
    assert links(answer)["last"].endswith("per_page=2&page=3")


async def test_mine_are_those_to_me(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers
) -> None:
    store.write_sync(guests, 1)
    first = await invite(client)
    other = await invite(client, "guest-0")
    second = (await client.put("/repos/octo/vault/collaborators/reader")).json()
    answer = await client.get(MINE, headers=reader)
    # An invited user sees the private repository in the invitation.
    assert [each["repository"]["name"] for each in answer.json()] == ["hello", "vault"]
    for method in ("PATCH", "DELETE"):
        path = f"{MINE}/{other['id']}"
        assert_error(await client.request(method, path, headers=reader), 404)
        assert_error(await client.request(method, f"{SENT}/{second['id']}"), 404)
    assert first["id"] != second["id"]


async def test_a_token_for_some_repositories_finds_invitations_to_these_alone(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    made = await invite(client)
    held = {"private_repository_invitations": "write"}
    octo, hello, vault = (row["id"] for row in (seed.octo, seed.hello, seed.vault))
    for target, among, reached in (
        (seed.reader["id"], None, False),
        (octo, [vault], False),
        (octo, [hello], True),
        (octo, None, True),
    ):
        limits = {"target_id": target, "repositories": among}
        limited = by(store, seed.reader, kind="app_user", permissions=held, **limits)
        found = (await client.get(MINE, headers=limited)).json()
        assert [one["id"] for one in found] == [made["id"]] * reached
        if not reached:
            for method in ("PATCH", "DELETE"):
                answer = await client.request(method, f"{MINE}/{made['id']}", headers=limited)
                assert_error(answer, 404)
    assert role(store, seed.hello, seed.reader) is None
    assert (await client.patch(f"{MINE}/{made['id']}", headers=limited)).status_code == 204


async def test_a_token_without_single_sign_on_finds_no_invitation_of_the_organization(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    acme = store.write_sync(accounts.create, "acme", kind="Organization")
    store.write_sync(sso.enforce, acme["id"], True)
    repo = store.write_sync(repositories.create, acme["id"], "tools", private=True)
    made, _ = store.write_sync(invitations.invite, repo["id"], seed.reader["id"], None, "read")
    value, row = store.write_sync(lambda db: tokens.create(db, seed.reader["id"], scopes=["repo"]))
    mine = bearer(value)
    assert (await client.get(MINE, headers=mine)).json() == []
    for method in ("PATCH", "DELETE"):
        answer = await client.request(method, f"{MINE}/{made['id']}", headers=mine)
        assert (answer.status_code, "X-Service-SSO" in answer.headers) == (403, True)
    store.write_sync(sso.authorize, row["id"], acme["id"])
    assert [one["id"] for one in (await client.get(MINE, headers=mine)).json()] == [made["id"]]
    assert (await client.patch(f"{MINE}/{made['id']}", headers=mine)).status_code == 204


async def test_invitations_need_an_administrator(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers
) -> None:
    shown = await invite(client)
    path = f"{SENT}/{shown['id']}"
    asked = [("GET", SENT), ("PATCH", path), ("DELETE", path), ("PUT", f"{PEOPLE}/reader")]
    for method, at in asked:
        assert_error(await client.request(method, at, headers=reader), 403)
        assert_error(await client.request(method, at, headers={"Authorization": ""}), 401)
    maintainer = store.write_sync(accounts.create, "maintainer")
    store.write_sync(repositories.grant, seed.hello["id"], maintainer["id"], "maintain")
    for method, at in asked:
        given = by(store, maintainer, scopes=["repo"])
        assert_error(await client.request(method, at, headers=given), 403)


async def test_invitations_need_a_fitting_token(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    vault = "/repos/octo/vault/invitations"
    for scopes, sent, mine in (
        (["repo:invite"], 200, 200),
        (["repo"], 200, 200),
        (["public_repo"], 403, 403),
        ([], 403, 403),
    ):
        given = by(store, seed.octo, scopes=scopes)
        assert (await client.get(SENT, headers=given)).status_code == sent
        assert (await client.get(MINE, headers=given)).status_code == mine
        # Without access, the private repository is not found.
        expected = 200 if sent == 200 else 404
        assert (await client.get(vault, headers=given)).status_code == expected
    # A public repository's invitation may be changed with `public_repo` too.
    shown = await invite(client)
    public = by(store, seed.octo, scopes=["public_repo"])
    assert (await client.patch(f"{SENT}/{shown['id']}", headers=public)).status_code == 200
    assert_error(await client.patch(f"{vault}/1", headers=public), 404)
    # The scope `repo:invite` gives no access to other resources of a private repository.
    given = by(store, seed.octo, scopes=["repo:invite"])
    assert_error(await client.get("/repos/octo/vault/subscribers", headers=given), 404)
    for permissions, sent in (
        ({"administration": "read"}, 200),
        ({"private_repository_invitations": "read"}, 200),
        ({"metadata": "read"}, 403),
    ):
        given = by(store, seed.octo, kind="fine_grained", permissions=permissions)
        assert (await client.get(SENT, headers=given)).status_code == sent
        answer = await client.put(f"{PEOPLE}/reader", headers=given)
        assert_error(answer, 403)
    given = by(store, seed.octo, kind="app_user", permissions={"administration": "write"})
    assert (await client.put(f"{PEOPLE}/reader", headers=given)).status_code == 201


async def test_an_accepting_user_is_not_invited_again(
    client: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another hub has accepted the invitation when the repository's invitations are locked."""
    await invite(client)

    def locked(db: Connection, repo_id: int) -> None:
        pending = invitations.open_to(db, repo_id, seed.reader["id"])
        assert pending is not None
        invitations.end(db, pending)
        repositories.grant(db, repo_id, seed.reader["id"], pending["role"])

    monkeypatch.setattr(invitations, "alone", locked)
    answer = await client.put(f"{PEOPLE}/reader")
    assert answer.status_code == 204
    assert (await client.get(SENT)).json() == []


@pytest.mark.parametrize("path", [SENT, MINE])
async def test_an_invitation_that_another_hub_has_ended_is_not_found(
    client: httpx.AsyncClient,
    store: Store,
    reader: Headers,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
) -> None:
    """Another hub ends it after it was looked up. The user may be a collaborator then."""
    shown = await invite(client)
    monkeypatch.setattr(invitations, "end", lambda db, row: None)
    how = {} if path == SENT else {"headers": reader}
    assert_error(await client.delete(f"{path}/{shown['id']}", **how), 404)
    assert reported(store) == ["created"]
