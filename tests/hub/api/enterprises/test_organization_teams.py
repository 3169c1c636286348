"""The teams of organizations, and their members."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from bearer import Headers, by
from transactions import transaction

from hub.auth.organization_access import NOT_A_MEMBER
from store import Row, Store
from store.accounts import accounts, teams
from store.enterprises import (
    enterprise_assignments,
    enterprise_memberships,
    enterprise_teams,
    enterprises,
    team_repositories,
)
from store.repositories import repositories

TEAMS = "/orgs/acme/teams"


@pytest.fixture
def acme(store: Store, seed: Any) -> dict[str, Any]:
    """Create the organization acme, which octo owns. Return the users by login.

    bella is a member in the secret team Night. octo and the member cid are in the team Day. The
    enterprise globe assigns its team Ops to acme. reader does not belong to acme.
    """

    with transaction(store) as db:
        org = accounts.create(db, "acme", kind="Organization")
        made = {name: accounts.create(db, name) for name in ("bella", "cid")}
        accounts.join(db, org["id"], seed.octo["id"], "admin")
        for account in made.values():
            accounts.join(db, org["id"], account["id"], "member")
        night = teams.create(db, org["id"], "Night", privacy="secret")
        day = teams.create(db, org["id"], "Day", description="rings at noon")
        teams.join(db, night["id"], [made["bella"]["id"]])
        teams.join(db, day["id"], [made["cid"]["id"], seed.octo["id"]])
        repo = repositories.create(db, org["id"], "tools")
        team_repositories.put(db, day, repo, "read")
        enterprise = enterprises.create(db, "globe")
        enterprises.adopt(db, enterprise["id"], org["id"])
        for name, assigned in (("Ops", True), ("Far", False)):
            team = enterprise_teams.create(db, enterprise["id"], name)
            enterprise_memberships.add(db, team, [made["bella"]["id"]])
            if assigned:
                enterprise_assignments.add(db, team, [org["id"]])
        return {"octo": seed.octo, "reader": seed.reader, **made}


@pytest.fixture
def users(store: Store, acme: dict[str, Any]) -> dict[str, Headers]:
    """Headers with a token for each user of `acme`, by login. Its scope is `read:org`."""

    def made(account: Row) -> Headers:
        return by(store, account, scopes=["read:org"])

    return {name: made(account) for name, account in acme.items()}


def slugs(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [team["slug"] for team in answer.json()]


@pytest.mark.parametrize(
    ("login", "wanted"),
    [
        ("octo", ["day", "ent:ops", "night"]),
        ("bella", ["day", "ent:ops", "night"]),
        ("cid", ["day", "ent:ops"]),
    ],
)
async def test_secret_teams_are_for_their_members(
    client: httpx.AsyncClient, users: dict[str, Headers], login: str, wanted: list[str]
) -> None:
    assert slugs(await client.get(TEAMS, headers=users[login])) == wanted
    status = 200 if "night" in wanted else 404
    for path in (f"{TEAMS}/night", f"{TEAMS}/night/members"):
        assert (await client.get(path, headers=users[login])).status_code == status


async def test_no_two_teams_of_a_list_have_one_id(
    client: httpx.AsyncClient, users: dict[str, Headers]
) -> None:
    found = (await client.get(TEAMS, headers=users["octo"])).json()
    assert len({team["id"] for team in found}) == len(found) == 3


@pytest.mark.parametrize(
    ("kind", "wanted"), [("organization", ["day", "night"]), ("enterprise", ["ent:ops"])]
)
async def test_teams_of_one_kind(
    client: httpx.AsyncClient, users: dict[str, Headers], kind: str, wanted: list[str]
) -> None:
    answer = await client.get(f"{TEAMS}?team_type={kind}", headers=users["octo"])
    assert slugs(answer) == wanted
    assert {team["type"] for team in answer.json()} == {kind}


async def test_a_team_is_found_by_its_name(
    client: httpx.AsyncClient, users: dict[str, Headers]
) -> None:
    found = (await client.get(f"{TEAMS}/DAY", headers=users["cid"])).json()
    assert (found["name"], found["members_count"], found["repos_count"]) == ("Day", 2, 1)
    assert found["url"] == f"{BASE}{TEAMS}/day"
    assert found["organization"]["login"] == "acme"
    ops = (await client.get(f"{TEAMS}/ent:ops", headers=users["cid"])).json()
    assert (ops["type"], ops["members_count"], ops["repos_count"]) == ("enterprise", 1, 0)
    for slug in ("none", "ent:far"):
        assert_error(await client.get(f"{TEAMS}/{slug}", headers=users["cid"]), 404, "Not Found")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", {"cid": "member", "octo": "maintainer"}),
        ("role=member", {"cid": "member"}),
        ("role=maintainer", {"octo": "maintainer"}),
    ],
)
async def test_members_of_a_team(
    client: httpx.AsyncClient, users: dict[str, Headers], query: str, wanted: dict[str, str]
) -> None:
    answer = await client.get(f"{TEAMS}/day/members?{query}", headers=users["cid"])
    assert {one["login"]: one["role"] for one in answer.json()} == wanted


@pytest.mark.parametrize(
    ("team", "login", "role"),
    [
        ("day", "cid", "member"),
        ("DAY", "OCTO", "maintainer"),
        ("ent:ops", "bella", "member"),
        ("night", "bella", "member"),
    ],
)
async def test_a_membership_in_a_team(
    client: httpx.AsyncClient, users: dict[str, Headers], team: str, login: str, role: str
) -> None:
    at = f"{TEAMS}/{team}/memberships/{login}"
    found = (await client.get(at, headers=users["bella"])).json()
    url = f"{BASE}{TEAMS}/{team.lower()}/memberships/{login.lower()}"
    assert found == {"url": url, "role": role, "state": "active"}
    answer = await client.get(f"{TEAMS}/{team}/members/{login}", headers=users["bella"])
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    ("team", "login"),
    [
        ("day", "bella"),
        ("day", "nobody"),
        ("ent:ops", "octo"),
        ("ent:far", "bella"),
        # cid does not see the secret team.
        ("night", "bella"),
    ],
)
async def test_users_outside_of_a_team_have_no_membership(
    client: httpx.AsyncClient, users: dict[str, Headers], team: str, login: str
) -> None:
    for place in ("members", "memberships"):
        answer = await client.get(f"{TEAMS}/{team}/{place}/{login}", headers=users["cid"])
        assert_error(answer, 404, "Not Found")


async def test_outsiders_see_no_teams(client: httpx.AsyncClient, users: dict[str, Headers]) -> None:
    assert_error(await client.get(TEAMS, headers=users["reader"]), 403, NOT_A_MEMBER)
    for path in ("", "/members", "/members/cid", "/memberships/cid"):
        answer = await client.get(f"{TEAMS}/day{path}", headers=users["reader"])
        assert_error(answer, 404, "Not Found")
