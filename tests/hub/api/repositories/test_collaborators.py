"""Collaborators, stargazers and teams of repositories."""

from typing import Any

import httpx
import pytest
from assertions import assert_error, by_id, links
from bearer import by
from platform_events import report
from transactions import transaction

from store import Row, Store
from store.accounts import accounts, teams
from store.enterprises import team_repositories
from store.errors import Invalid
from store.repositories import collaborators, repositories

TOOLS = "/repos/acme/tools"


@pytest.fixture
def people(store: Store, seed: Any) -> dict[str, Row]:
    """Create the organization acme with the private repository acme/tools. Return the rows by name.

    octo owns acme, and bella and cid are members. bella and dora are collaborators of acme/tools.
    The team Ringers, with cid and dora, has the role `write` in it.
    """

    with transaction(store) as db:
        org = accounts.create(db, "acme", kind="Organization")
        tools = repositories.create(db, org["id"], "tools", private=True)
        made = {name: accounts.create(db, name) for name in ("bella", "cid", "dora")}
        accounts.join(db, org["id"], seed.octo["id"], "admin")
        for name in ("bella", "cid"):
            accounts.join(db, org["id"], made[name]["id"], "member")
        repositories.grant(db, tools["id"], made["bella"]["id"], "maintain")
        repositories.grant(db, tools["id"], made["dora"]["id"], "triage")
        team = teams.create(db, org["id"], "Ringers")
        teams.join(db, team["id"], [made["cid"]["id"], made["dora"]["id"]])
        team_repositories.put(db, team, tools, "write")
        return {**made, "org": org, "tools": tools, "team": team}


def roles(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 200, answer.text
    return {one["login"]: one["role_name"] for one in answer.json()}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", {"bella": "maintain", "cid": "write", "dora": "triage", "octo": "admin"}),
        ("affiliation=outside", {"dora": "triage"}),
        ("affiliation=direct", {"bella": "maintain", "cid": "write", "dora": "triage"}),
        ("permission=push", {"bella": "maintain", "cid": "write", "octo": "admin"}),
        ("permission=admin", {"octo": "admin"}),
    ],
)
async def test_collaborators_and_their_roles(
    client: httpx.AsyncClient, people: dict[str, Row], query: str, wanted: dict[str, str]
) -> None:
    assert roles(await client.get(f"{TOOLS}/collaborators?{query}")) == wanted


async def test_an_owner_with_a_granted_role_is_shown_as_admin(
    client: httpx.AsyncClient, store: Store, seed: Any, people: dict[str, Row]
) -> None:
    store.write_sync(repositories.grant, people["tools"]["id"], seed.octo["id"], "write")
    for query in ("affiliation=all", "affiliation=direct", "affiliation=direct&permission=admin"):
        answer = await client.get(f"{TOOLS}/collaborators?{query}")
        assert roles(answer)["octo"] == "admin", query


async def test_a_user_s_repository_has_its_owner(client: httpx.AsyncClient) -> None:
    assert roles(await client.get("/repos/octo/hello/collaborators")) == {"octo": "admin"}
    direct = await client.get("/repos/octo/hello/collaborators?affiliation=direct")
    assert roles(direct) == {"octo": "admin"}


async def test_collaborators_have_pages(client: httpx.AsyncClient, people: dict[str, Row]) -> None:
    answer = await client.get(f"{TOOLS}/collaborators?per_page=3&page=2")
    assert roles(answer) == {"octo": "admin"}
    assert links(answer)["first"] == f"{by_id(TOOLS, 3)}/collaborators?per_page=3&page=1"


async def test_collaborators_are_listed_for_pushers_only(
    client: httpx.AsyncClient, store: Store, people: dict[str, Row]
) -> None:
    for name, status in (("bella", 200), ("cid", 200), ("dora", 403)):
        headers = by(store, people[name], scopes=["repo"])
        answer = await client.get(f"{TOOLS}/collaborators", headers=headers)
        assert answer.status_code == status


async def test_owners_members_and_outsiders_are_checked_as_collaborators(
    client: httpx.AsyncClient, people: dict[str, Row]
) -> None:
    for name, status in (("bella", 204), ("cid", 204), ("octo", 204), ("reader", 404)):
        answer = await client.get(f"{TOOLS}/collaborators/{name}")
        assert answer.status_code == status, name
    assert_error(await client.get(f"{TOOLS}/collaborators/nobody"), 404)


@pytest.mark.parametrize(
    ("login", "permission", "role"),
    [
        ("octo", "admin", "admin"),
        ("bella", "write", "maintain"),
        ("cid", "write", "write"),
        ("dora", "read", "triage"),
        ("reader", "none", "none"),
    ],
)
async def test_the_permission_and_role_of_a_user_are_shown(
    client: httpx.AsyncClient, people: dict[str, Row], login: str, permission: str, role: str
) -> None:
    found = (await client.get(f"{TOOLS}/collaborators/{login}/permission")).json()
    assert (found["permission"], found["role_name"]) == (permission, role)
    assert found["user"]["login"] == login


async def test_everybody_may_read_a_public_repository(client: httpx.AsyncClient) -> None:
    found = (await client.get("/repos/octo/hello/collaborators/reader/permission")).json()
    assert found["permission"] == "read"


async def test_permissions_are_shown_to_pushers_only(
    client: httpx.AsyncClient, store: Store, seed: Any, people: dict[str, Row]
) -> None:
    message = "Must have push access to view collaborator permission."
    for path, account in ((TOOLS, people["dora"]), ("/repos/octo/hello", seed.reader)):
        headers = by(store, account, scopes=["repo"])
        answer = await client.get(f"{path}/collaborators/octo/permission", headers=headers)
        assert_error(answer, 403, message)


# Teams of a repository


async def test_teams_of_a_repository(
    client: httpx.AsyncClient, store: Store, people: dict[str, Row]
) -> None:
    (team,) = (await client.get(f"{TOOLS}/teams")).json()
    assert (team["slug"], team["permission"]) == ("ringers", "push")
    assert [name for name, allowed in team["permissions"].items() if not allowed] == [
        "admin",
        "maintain",
    ]
    headers = by(store, people["dora"], scopes=["repo"])
    # dora is not a member of the organization, so she sees no teams.
    assert (await client.get(f"{TOOLS}/teams", headers=headers)).json() == []
    assert (await client.get("/repos/octo/hello/teams")).json() == []


async def test_a_team_s_role_is_for_members_of_the_organization(
    store: Store, people: dict[str, Row]
) -> None:
    tools = people["tools"]

    def held(db: Any) -> dict[str, Any]:
        given = {"site_admin": 0}
        return {
            name: (
                repositories.role_of(db, tools, people[name] | given),
                collaborators.roles_of(db, [tools], people[name] | given)[tools["id"]],
            )
            for name in ("bella", "cid", "dora")
        }

    assert store.read_sync(held) == {
        "bella": ("maintain", "maintain"),
        "cid": ("write", "write"),
        "dora": ("triage", "triage"),
    }


def test_a_team_gets_no_role_elsewhere(store: Store, seed: Any, people: dict[str, Row]) -> None:
    with pytest.raises(Invalid, match="does not belong"):
        store.write_sync(team_repositories.put, people["team"], seed.hello, "write")


# Stars


async def test_stargazers_are_listed(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    sender = {"login": "reader"}
    report(store, seed.hello, "star.created", sender=sender, starred_at="2026-11-20T10:00:00Z")
    report(store, seed.hello, "star.created", sender={"login": "octo"})
    path = "/repos/octo/hello/stargazers"
    answer = await client.get(path)
    assert [one["login"] for one in answer.json()] == ["reader", "octo"]
    accept = "application/vnd.service.star+json"
    timed = await client.get(path, headers={"Accept": accept})
    assert timed.headers["Content-Type"].startswith(accept)
    assert timed.headers["ETag"] != answer.headers["ETag"]
    first = timed.json()[0]
    assert (first["starred_at"], first["user"]["login"]) == ("2026-11-20T10:00:00Z", "reader")
    paged = await client.get(f"{path}?per_page=1")
    assert links(paged)["next"] == f"{by_id(path)}?per_page=1&page=2"
    report(store, seed.hello, "star.deleted", sender=sender)
    assert [one["login"] for one in (await client.get(path)).json()] == ["octo"]


async def test_the_form_with_times_is_for_stars_alone(client: httpx.AsyncClient) -> None:
    accept = {"Accept": "application/vnd.service.star+json"}
    answer = await client.get("/repos/octo/hello", headers=accept)
    assert answer.status_code == 200
    assert answer.headers["X-Service-Media-Type"] == "service.v3; format=json"
