"""Interaction limits of organizations, repositories, and users."""

from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies
from bearer import Headers, by

from store import Connection, Row, Store
from store.accounts import accounts
from store.clock import MovableClock, iso, parse
from store.hooks import hooks
from store.issues import pulls
from store.projection import projection_table
from store.registry import expiring
from store.repositories import interaction_limits, repositories

ORG, MINE = "/orgs/tower/interaction-limits", "/user/interaction-limits"
BELLS, CLOCK = "/repos/tower/bells/interaction-limits", "/repos/tower/clock/interaction-limits"
HELLO = "/repos/octo/hello/interaction-limits"


@pytest.fixture
def tower(store: Store, seed: Any) -> Row:
    """The organization tower with two repositories. octo owns it, and reader is a member."""
    made = store.write_sync(accounts.create, "tower", kind="Organization")
    store.write_sync(accounts.join, made["id"], seed.octo["id"], "admin")
    store.write_sync(accounts.join, made["id"], seed.reader["id"], "member")
    for name in ("bells", "clock"):
        store.write_sync(repositories.create, made["id"], name)
    return made


@pytest.fixture
def octo(store: Store, seed: Any) -> Headers:
    return by(store, seed.octo, scopes=["repo", "user", "admin:org"])


@pytest.fixture
def reader(store: Store, seed: Any) -> Headers:
    return by(store, seed.reader, scopes=["repo", "user", "admin:org"])


def reported(store: Store) -> list[tuple[str, str]]:
    """The action of each event, and the name of the account or repository that the limit is for."""
    found = []
    for body in bodies(store, "interaction_limit"):
        # If the limit is for a repository, the event may contain its organization as well.
        whose = body.get("repository") or body.get("organization") or body["user"]
        found.append((body["action"], whose.get("login") or whose["full_name"]))
    return found


@pytest.mark.parametrize(
    ("expiry", "ends"),
    [
        (None, "2026-11-22T07:33:00Z"),
        ("one_day", "2026-11-22T07:33:00Z"),
        ("three_days", "2026-11-24T07:33:00Z"),
        ("one_week", "2026-11-28T07:33:00Z"),
        ("one_month", "2026-12-21T07:33:00Z"),
        ("six_months", "2027-05-21T07:33:00Z"),
    ],
)
@pytest.mark.parametrize("path", [ORG, BELLS, MINE])
async def test_a_limit_ends_at_its_expiry(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, path: str, expiry: str | None, ends: str
) -> None:
    given = {"limit": "contributors_only"} | ({"expiry": expiry} if expiry else {})
    answer = await hub.put(path, json=given, headers=octo)
    assert answer.status_code == 200
    assert answer.json()["expires_at"] == ends
    assert (await hub.get(path, headers=octo)).json() == answer.json()


@pytest.mark.parametrize(
    ("now", "expiry", "ends"),
    [
        ("2026-08-31T23:59:59Z", "six_months", "2027-02-28T23:59:59Z"),
        ("2027-08-31T12:00:00Z", "six_months", "2028-02-29T12:00:00Z"),
        ("2026-01-31T00:00:00Z", "one_month", "2026-02-28T00:00:00Z"),
        ("2026-12-31T07:00:00Z", "one_month", "2027-01-31T07:00:00Z"),
        # In Europe, clocks go back an hour within this day. The limit still lasts 24 hours.
        ("2026-10-24T12:00:00Z", "one_day", "2026-10-25T12:00:00Z"),
    ],
)
def test_months_of_the_calendar(now: str, expiry: str, ends: str) -> None:
    # The end is cut to a whole second, so that the limit ends exactly at the time it shows.
    assert interaction_limits.ends_at(parse(now) + 999_999, expiry) == parse(ends)


@pytest.mark.parametrize("limit", ["existing_users", "contributors_only", "collaborators_only"])
@pytest.mark.parametrize(
    ("path", "origin"), [(ORG, "organization"), (HELLO, "repository"), (MINE, "user")]
)
async def test_a_limit_shows_its_origin(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, path: str, origin: str, limit: str
) -> None:
    answer = await hub.put(path, json={"limit": limit}, headers=octo)
    assert answer.json() == {
        "limit": limit,
        "origin": origin,
        "expires_at": "2026-11-22T07:33:00Z",
    }


async def test_no_interaction_limit_is_set(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store
) -> None:
    for path in (ORG, BELLS):
        answer = await hub.get(path, headers=octo)
        assert (answer.status_code, answer.json()) == (200, {})
    answer = await hub.get(MINE, headers=octo)
    assert (answer.status_code, answer.content) == (204, b"")
    for path in (ORG, BELLS, MINE):
        assert (await hub.delete(path, headers=octo)).status_code == 204
    assert reported(store) == []


@pytest.mark.parametrize("path", [ORG, BELLS, MINE])
async def test_gone_at_its_moment(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, clock: MovableClock, path: str
) -> None:
    await hub.put(path, json={"limit": "existing_users"}, headers=octo)
    clock.advance(86_399.999999)
    assert (await hub.get(path, headers=octo)).json()["origin"]
    clock.advance(0.000001)
    answer = await hub.get(path, headers=octo)
    assert answer.status_code == 204 or answer.json() == {}


@pytest.mark.parametrize(
    "body",
    [
        {},
        None,
        {"limit": "nobody"},
        {"limit": None},
        {"limit": ["existing_users"]},
        {"limit": "existing_users", "expiry": "one_year"},
        {"limit": "existing_users", "expiry": None},
        {"limit": "existing_users", "expiry": 7},
    ],
)
@pytest.mark.parametrize("path", [ORG, BELLS, MINE])
async def test_an_invalid_limit_is_rejected(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store, path: str, body: Any
) -> None:
    assert_error(await hub.put(path, json=body, headers=octo), 422)
    assert reported(store) == []


async def test_the_organization_s_overwrites_those_of_its_repositories(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store, clock: MovableClock
) -> None:
    week = {"limit": "collaborators_only", "expiry": "one_week"}
    for path in (BELLS, HELLO):
        await hub.put(path, json=week, headers=octo)
    await hub.put(ORG, json={"limit": "existing_users"}, headers=octo)
    expected = {
        "limit": "existing_users",
        "origin": "organization",
        "expires_at": "2026-11-22T07:33:00Z",
    }
    for path in (ORG, BELLS, CLOCK):
        assert (await hub.get(path, headers=octo)).json() == expected
    assert (await hub.get(HELLO, headers=octo)).json()["origin"] == "repository"
    assert reported(store) == [
        ("set", "tower/bells"),
        ("set", "octo/hello"),
        ("removed", "tower/bells"),
        ("set", "tower"),
    ]
    # The limit of the organization has replaced the repository's limit for good.
    clock.advance(86_400)
    assert (await hub.get(BELLS, headers=octo)).json() == {}


@pytest.mark.parametrize(("whole", "part"), [(ORG, BELLS), (MINE, HELLO)])
async def test_no_change_while_the_owner_has_one(
    hub: httpx.AsyncClient,
    tower: Row,
    octo: Headers,
    store: Store,
    clock: MovableClock,
    whole: str,
    part: str,
) -> None:
    await hub.put(whole, json={"limit": "existing_users"}, headers=octo)
    before = (await hub.get(part, headers=octo)).json()
    assert_error(await hub.put(part, json={"limit": "contributors_only"}, headers=octo), 409)
    assert_error(await hub.delete(part, headers=octo), 409)
    assert (await hub.get(part, headers=octo)).json() == before
    assert len(reported(store)) == 1
    clock.advance(86_400)
    answer = await hub.put(part, json={"limit": "contributors_only"}, headers=octo)
    assert answer.json()["origin"] == "repository"
    await hub.put(whole, json={"limit": "existing_users"}, headers=octo)
    assert (await hub.delete(whole, headers=octo)).status_code == 204
    assert (await hub.delete(part, headers=octo)).status_code == 204


async def test_a_user_s_is_that_of_their_repositories(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store
) -> None:
    await hub.put(HELLO, json={"limit": "collaborators_only"}, headers=octo)
    await hub.put(MINE, json={"limit": "existing_users"}, headers=octo)
    assert (await hub.get(HELLO, headers=octo)).json()["origin"] == "user"
    assert (await hub.get(BELLS, headers=octo)).json() == {}
    assert reported(store)[1:] == [("removed", "octo/hello"), ("set", "octo")]


async def test_set_again_it_counts_anew(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store, clock: MovableClock
) -> None:
    for path in (ORG, HELLO):
        await hub.put(path, json={"limit": "existing_users"}, headers=octo)
        clock.advance(3600)
        answer = await hub.put(path, json={"limit": "contributors_only"}, headers=octo)
        assert answer.json()["expires_at"] == iso(clock.now() + 86_400_000_000)
        assert (await hub.get(path, headers=octo)).json() == answer.json()
    assert [action for action, _ in reported(store)] == ["set"] * 4


async def test_an_expired_limit_is_reported_before_the_new_one(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store, clock: MovableClock
) -> None:
    for path in (BELLS, HELLO):
        await hub.put(path, json={"limit": "existing_users"}, headers=octo)
    clock.advance(86_400)
    for path in (ORG, HELLO):
        await hub.put(path, json={"limit": "contributors_only"}, headers=octo)
    assert store.write_sync(expiring.EXPIRING[0].expire, 10) == []
    assert reported(store)[2:] == [
        ("expired", "tower/bells"),
        ("set", "tower"),
        ("expired", "octo/hello"),
        ("set", "octo/hello"),
    ]
    assert "sender" not in bodies(store, "interaction_limit")[2]


async def test_limits_emit_events(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, store: Store, seed: Any
) -> None:
    for events in (["interaction_limit"], ["*"]):
        url = f"https://receiver.example/{len(events[0])}"
        store.write_sync(hooks.create, seed.hello["id"], url=url, events=events)
    await hub.put(HELLO, json={"limit": "existing_users"}, headers=octo)
    await hub.delete(HELLO, headers=octo)
    first, second = bodies(store, "interaction_limit")
    assert first.keys() == {"action", "interaction_limit", "repository", "sender"}
    assert first["interaction_limit"]["origin"] == "repository"
    assert (first["action"], second["action"]) == ("set", "removed")
    assert first["sender"]["login"] == "octo"
    # Only the hook that names the event gets it. The wildcard does not include this event.
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 2


async def test_interaction_limits_need_an_administrator(
    hub: httpx.AsyncClient, tower: Row, octo: Headers, reader: Headers, store: Store, seed: Any
) -> None:
    body = {"limit": "existing_users"}
    stranger = by(store, store.write_sync(accounts.create, "eve"), scopes=["repo", "user"])
    assert (await hub.get(ORG, headers=reader)).status_code == 200
    assert_error(await hub.put(ORG, json=body, headers=reader), 403)
    assert_error(await hub.delete(ORG, headers=reader), 403)
    for method in ("GET", "PUT", "DELETE"):
        given = {"json": body} if method == "PUT" else {}
        assert_error(await hub.request(method, ORG, headers=stranger, **given), 404)
        assert_error(await hub.request(method, BELLS, headers=reader, **given), 403)
        for path in (ORG, BELLS, MINE):
            assert_error(await hub.request(method, path, **given), 401)
    maintainer = by(store, seed.reader, scopes=["repo"])
    store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], "maintain")
    assert_error(await hub.put(HELLO, json=body, headers=maintainer), 403)
    store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], "admin")
    assert (await hub.put(HELLO, json=body, headers=maintainer)).status_code == 200


async def test_interaction_limits_need_a_fitting_token(
    hub: httpx.AsyncClient, tower: Row, store: Store, seed: Any
) -> None:
    body = {"limit": "existing_users"}
    for path, name in (
        (ORG, "organization_administration"),
        (BELLS, "administration"),
        (MINE, "interaction_limits"),
    ):
        for level, expected in (("read", 403), ("write", 200)):
            given = by(store, seed.octo, kind="fine_grained", permissions={name: level})
            assert (await hub.get(path, headers=given)).status_code in (200, 204)
            answer = await hub.put(path, json=body, headers=given)
            assert answer.status_code == expected, (path, level)
            await hub.delete(path, headers=given)
    for kind in ("personal", "oauth"):
        for scopes in ([], ["gist"], ["read:org"], ["repo_deployment"]):
            bare = by(store, seed.octo, kind=kind, scopes=scopes)
            for path in (ORG, BELLS, MINE):
                assert_error(await hub.put(path, json=body, headers=bare), 403)
                assert_error(await hub.delete(path, headers=bare), 403)
                reads = path == ORG and scopes == ["read:org"]
                status = (await hub.get(path, headers=bare)).status_code
                assert status == (200 if reads else 403)
        for path, scope in ((ORG, "admin:org"), (BELLS, "public_repo"), (MINE, "user")):
            given = by(store, seed.octo, kind=kind, scopes=[scope])
            assert (await hub.put(path, json=body, headers=given)).status_code == 200
            assert (await hub.delete(path, headers=given)).status_code == 204
    installed = by(
        store, seed.octo, kind="installation", permissions={"interaction_limits": "write"}
    )
    assert_error(await hub.get(MINE, headers=installed), 403)


COMMENTS = f"/repos/octo/hello/commits/{'a' * 40}/comments"


async def comment(hub: httpx.AsyncClient, headers: Headers) -> httpx.Response:
    return await hub.post(COMMENTS, json={"body": "Well done"}, headers=headers)


@pytest.mark.parametrize(
    ("limit", "young", "old", "contributor"),
    [
        ("existing_users", 403, 201, 201),
        ("contributors_only", 403, 403, 201),
        ("collaborators_only", 403, 403, 403),
    ],
)
@pytest.mark.parametrize("path", [HELLO, MINE])
async def test_a_limit_keeps_users_out(
    hub: httpx.AsyncClient,
    store: Store,
    seed: Any,
    octo: Headers,
    reader: Headers,
    clock: MovableClock,
    path: str,
    limit: str,
    young: int,
    old: int,
    contributor: int,
) -> None:
    clock.advance(86_400)
    eve = store.write_sync(accounts.create, "eve")
    author = store.write_sync(accounts.create, "author")
    store.write_sync(merge_a_pull_request_of, seed.hello, author)
    helper = store.write_sync(accounts.create, "helper")
    store.write_sync(repositories.grant, seed.hello["id"], helper["id"], "read")
    admin = store.write_sync(accounts.create, "admin", site_admin=True)
    headers = {
        row["login"]: by(store, row, scopes=["repo"]) for row in (eve, author, helper, admin)
    }
    assert (await comment(hub, headers["eve"])).status_code == 201
    await hub.put(path, json={"limit": limit}, headers=octo)
    assert (await comment(hub, headers["eve"])).status_code == young
    assert (await comment(hub, reader)).status_code == old
    assert (await comment(hub, headers["author"])).status_code == contributor
    for who in (octo, headers["helper"], headers["admin"]):
        assert (await comment(hub, who)).status_code == 201
    if young == 403:
        message = (await comment(hub, headers["eve"])).json()["message"]
        assert message.startswith("Interactions on this repository have been restricted to ")
    clock.advance(86_400)
    assert (await comment(hub, headers["eve"])).status_code == 201


def merge_a_pull_request_of(db: Connection, repo: Row, author: Row) -> None:
    reported = {
        "number": 7,
        "title": "Ring twice",
        "state": "closed",
        "user": {"login": author["login"]},
        "merged_at": "2026-11-20T07:33:00Z",
    }
    pulls.put(db, repo, reported, projection_table.projected_events(db))


async def test_private_repositories_are_not_limited(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: Headers
) -> None:
    await hub.put(MINE, json={"limit": "existing_users"}, headers=octo)
    assert store.read_sync(interaction_limits.excludes, seed.vault, seed.reader["id"]) is None
    assert store.read_sync(interaction_limits.excludes, seed.hello, seed.reader["id"]) is not None


async def test_a_token_for_another_account_s_repositories_limits_none_of_the_user_s(
    client: httpx.AsyncClient, store: Store, seed: Any, tower: Row
) -> None:
    held = {"kind": "app_user", "permissions": {"interaction_limits": "write"}}
    limit = {"limit": "existing_users"}
    other = by(store, seed.octo, target_id=tower["id"], **held)
    assert_error(await client.put(MINE, json=limit, headers=other), 403)
    own = by(store, seed.octo, target_id=seed.octo["id"], **held)
    assert (await client.put(MINE, json=limit, headers=own)).status_code == 200
    for method in ("GET", "DELETE"):
        assert_error(await client.request(method, MINE, headers=other), 403)
    assert (await client.delete(MINE, headers=own)).status_code == 204
