"""The variables of an organization's agents."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import Headers, bearer
from hub_client import open_client
from transactions import transaction

from hub.api.agents.agent_variables import NO_COLLABORATOR, NO_PUSH
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, tokens
from store.agents import agent_variables
from store.agents.agent_variables import MOST, MOST_BYTES, create
from store.clock import MovableClock
from store.repositories import repositories

AT = "/orgs/acme/agents/variables"


@dataclass
class Acme:
    """octo owns acme, which has the public repository tools and the private repository safe.

    plain and pusher are members, and pusher may push to safe. The tokens in `no_repo` and
    `pusher_no_repo` lack the scope `repo`.
    """

    org: Row
    tools: Row
    safe: Row
    octo: Headers
    no_repo: Headers
    plain: Headers
    pusher: Headers
    pusher_no_repo: Headers


def _acme(db: Connection) -> Acme:
    org = accounts.create(db, "acme", kind="Organization")
    tools = repositories.create(db, org["id"], "tools")
    safe = repositories.create(db, org["id"], "safe", private=True)
    people = {}
    for login, role in (("octo", "admin"), ("plain", "member"), ("pusher", "member")):
        people[login] = accounts.create(db, login)["id"]
        accounts.join(db, org["id"], people[login], role)
    repositories.grant(db, safe["id"], people["pusher"], "write")

    def by(login: str, *scopes: str) -> Headers:
        value, _ = tokens.create(db, people[login], scopes=scopes)
        return bearer(value)

    return Acme(
        org,
        tools,
        safe,
        by("octo", "admin:org", "repo"),
        by("octo", "admin:org"),
        by("plain", "admin:org", "repo"),
        by("pusher", "admin:org", "repo"),
        by("pusher", "admin:org"),
    )


@pytest.fixture
def acme(store: Store) -> Acme:
    return store.write_sync(_acme)


@pytest.fixture
async def hub(store: Store, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    bounds = settings.model_copy(update={"max_body_bytes": 1024 * 1024})
    async with open_client(store, bounds) as opened:
        yield opened


def wanted(name: str = "region", **given: Any) -> Row:
    return {"name": name, "value": "north", "visibility": "all"} | given


async def made(hub: httpx.AsyncClient, acme: Acme, **given: Any) -> str:
    """Create a variable. Return its path."""
    answer = await hub.post(AT, headers=acme.octo, json=wanted(**given))
    assert answer.status_code == 201, answer.text
    return f"{AT}/{given.get('name', 'region')}"


async def test_a_variable_from_beginning_to_end(
    hub: httpx.AsyncClient, store: Store, acme: Acme, clock: MovableClock
) -> None:
    answer = await hub.post(AT, headers=acme.octo, json=wanted())
    assert (answer.status_code, answer.json()) == (201, {})
    assert answer.headers["Location"] == f"{BASE}{AT}/REGION"
    shown = await hub.get(f"{AT}/region", headers=acme.octo)
    assert shown.json() == {
        "name": "REGION",
        "value": "north",
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
        "visibility": "all",
    }
    listed = await hub.get(AT, headers=acme.octo)
    assert listed.json() == {"total_count": 1, "variables": [shown.json()]}
    clock.advance(60)
    changes = {"name": "zone", "value": "", "visibility": "private"}
    answer = await hub.patch(f"{AT}/REGION", headers=acme.octo, json=changes)
    assert (answer.status_code, answer.content) == (204, b"")
    assert_error(await hub.get(f"{AT}/region", headers=acme.octo), 404)
    assert (await hub.get(f"{AT}/Zone", headers=acme.octo)).json() == {
        "name": "ZONE",
        "value": "",
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:34:00Z",
        "visibility": "private",
    }
    assert (await hub.delete(f"{AT}/zone", headers=acme.octo)).status_code == 204
    assert_error(await hub.delete(f"{AT}/zone", headers=acme.octo), 404)
    reported = bodies(store, "agent_variable")
    assert [each["action"] for each in reported] == ["created", "updated", "deleted"]
    assert [each["variable"]["name"] for each in reported] == ["REGION", "ZONE", "ZONE"]
    assert reported[0].keys() == {"action", "variable", "organization", "sender"}
    assert reported[0]["organization"]["login"] == "acme"
    assert "north" not in str(reported)


async def test_every_change_may_be_left_out(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    at = await made(hub, acme)
    for body in (None, {}, {"value": "north"}, {"name": "Region"}, {"visibility": "all"}):
        assert (await hub.patch(at, headers=acme.octo, json=body)).status_code == 204
    assert len(bodies(store, "agent_variable")) == 1
    assert (await hub.patch(at, headers=acme.octo, json={"value": "south"})).status_code == 204
    shown = (await hub.get(at, headers=acme.octo)).json()
    assert (shown["name"], shown["value"], shown["visibility"]) == ("REGION", "south", "all")


WRONG_NAMES = ["", "1st", "a-b", "a b", "ü", "GITHUB_X", "github_token", "x" * 256, "a\n"]


async def test_a_wrong_name_is_refused(hub: httpx.AsyncClient, acme: Acme) -> None:
    at = await made(hub, acme)
    for name in WRONG_NAMES:
        answer = await hub.post(AT, headers=acme.octo, json=wanted(name))
        assert_error(answer, 422, "Validation Failed", code="invalid")
        answer = await hub.patch(at, headers=acme.octo, json={"name": name})
        assert_error(answer, 422, "Validation Failed", code="invalid")


A_NAME_IS_IN_UPPER_CASE = ["_", "a", "A1_b", "x" * 255, "GITHUBX"]


async def test_a_name_is_in_upper_case(hub: httpx.AsyncClient, acme: Acme) -> None:
    for name in A_NAME_IS_IN_UPPER_CASE:
        at = await made(hub, acme, name=name)
        assert (await hub.get(at, headers=acme.octo)).json()["name"] == name.upper()


async def test_names_that_differ_in_case_alone_are_refused(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    await made(hub, acme)
    at = await made(hub, acme, name="zone")
    taken = "Already exists - the organization has a variable REGION."
    answer = await hub.post(AT, headers=acme.octo, json=wanted("Region"))
    assert_error(answer, 409, taken)
    assert_error(await hub.patch(at, headers=acme.octo, json={"name": "rEGION"}), 409, taken)


WRONG_VARIABLES = [
    {"visibility": "some"},
    {"visibility": None},
    {"value": None},
    {"value": 5},
    {"value": "a\0b"},
    {"value": "x" * (MOST_BYTES + 1)},
    {"value": "ü" * (MOST_BYTES // 2 + 1)},
    {"selected_repository_ids": [1]},
    {"visibility": "private", "selected_repository_ids": [1]},
    {"visibility": "selected", "selected_repository_ids": ["1"]},
    {"visibility": "selected", "selected_repository_ids": [10**30]},
    {"visibility": "selected", "selected_repository_ids": [1.5]},
]


async def test_invalid_variables_are_rejected(hub: httpx.AsyncClient, acme: Acme) -> None:
    at = await made(hub, acme)
    for bad in WRONG_VARIABLES:
        assert_error(await hub.post(AT, headers=acme.octo, json=wanted("new", **bad)), 422)
        assert_error(await hub.patch(at, headers=acme.octo, json=bad), 422)


async def test_a_value_can_have_the_maximum_length(hub: httpx.AsyncClient, acme: Acme) -> None:
    at = await made(hub, acme, value="x" * MOST_BYTES)
    assert len((await hub.get(at, headers=acme.octo)).json()["value"]) == MOST_BYTES


async def test_agent_variables_need_a_collaborator(hub: httpx.AsyncClient, acme: Acme) -> None:
    await made(hub, acme)
    for method, path in (("GET", AT), ("GET", f"{AT}/region"), ("POST", AT)):
        answer = await hub.request(method, path, headers=acme.plain, json=wanted("other"))
        assert_error(answer, 403, NO_COLLABORATOR if method == "GET" else NO_PUSH)
    assert (await hub.get(AT, headers=acme.pusher)).status_code == 200
    assert (await hub.post(AT, headers=acme.pusher, json=wanted("o"))).status_code == 201
    # pusher collaborates only in a private repository, which this token cannot see.
    assert_error(await hub.get(AT, headers=acme.pusher_no_repo), 403, NO_COLLABORATOR)


async def test_outside_collaborators_read_variables_and_change_them_with_push_access(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    await made(hub, acme)
    for role, read, changed in ((None, 404, 404), ("read", 200, 403), ("write", 200, 201)):

        def outside(db: Connection, role: str | None = role) -> Headers:
            account = accounts.create(db, f"outside-{role}")
            if role is not None:
                repositories.grant(db, acme.tools["id"], account["id"], role)
            value, _ = tokens.create(db, account["id"], scopes=("admin:org",))
            return bearer(value)

        headers = store.write_sync(outside)
        assert (await hub.get(AT, headers=headers)).status_code == read, role
        answer = await hub.post(AT, headers=headers, json=wanted(f"by_{role}"))
        assert answer.status_code == changed, role
        if role == "read":
            assert_error(answer, 403, NO_PUSH)


# Selected repositories


async def test_selected_repositories(hub: httpx.AsyncClient, store: Store, acme: Acme) -> None:
    ids = [acme.tools["id"], acme.safe["id"]]
    at = await made(hub, acme, visibility="selected", selected_repository_ids=[ids[1], ids[1]])
    shown = (await hub.get(at, headers=acme.octo)).json()
    assert shown["selected_repositories_url"] == f"{BASE}{AT}/REGION/repositories"

    async def names(who: Headers = acme.octo) -> list[str]:
        answer = await hub.get(f"{at}/repositories", headers=who)
        found = [repo["full_name"] for repo in answer.json()["repositories"]]
        assert answer.json()["total_count"] == len(found)
        return found

    assert await names() == ["acme/safe"]
    for _ in range(2):
        answer = await hub.put(f"{at}/repositories/{ids[0]}", headers=acme.octo)
        assert answer.status_code == 204
    assert await names() == ["acme/tools", "acme/safe"]
    assert await names(acme.no_repo) == ["acme/tools"]
    for _ in range(2):
        answer = await hub.delete(f"{at}/repositories/{ids[1]}", headers=acme.octo)
        assert answer.status_code == 204
    assert await names() == ["acme/tools"]
    answer = await hub.put(
        f"{at}/repositories", headers=acme.octo, json={"selected_repository_ids": ids}
    )
    assert answer.status_code == 204
    assert await names() == ["acme/tools", "acme/safe"]
    await hub.put(f"{at}/repositories", headers=acme.octo, json={"selected_repository_ids": []})
    assert await names() == []
    reported = bodies(store, "agent_variable")
    assert [each["action"] for each in reported] == ["created", *["updated"] * 4]


async def test_pages_of_selected_repositories(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    with transaction(store) as db:
        owner = acme.org["id"]
        ids = [repositories.create(db, owner, f"r{each}")["id"] for each in range(5)]
    at = await made(hub, acme, visibility="selected", selected_repository_ids=ids)
    answer = await hub.get(f"{at}/repositories?per_page=2&page=2", headers=acme.octo)
    assert [repo["id"] for repo in answer.json()["repositories"]] == ids[2:4]
    assert answer.json()["total_count"] == 5
    assert links(answer).keys() == {"prev", "next", "first", "last"}


UNSELECTED_VISIBILITIES = ["all", "private"]


async def test_repositories_of_an_unselected_variable_cannot_be_changed(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    for visibility in UNSELECTED_VISIBILITIES:
        given = {"name": visibility, "visibility": visibility, "selected_repository_ids": []}
        at = await made(hub, acme, **given)
        message = "The visibility of this variable is not `selected`."
        one = f"{at}/repositories/{acme.tools['id']}"
        body = {"selected_repository_ids": [acme.tools["id"]]}
        for asked in (
            hub.get(f"{at}/repositories", headers=acme.octo),
            hub.put(f"{at}/repositories", headers=acme.octo, json=body),
            hub.put(one, headers=acme.octo),
            hub.delete(one, headers=acme.octo),
        ):
            assert_error(await asked, 409, message)


async def test_another_visibility_ends_the_selection(hub: httpx.AsyncClient, acme: Acme) -> None:
    ids = [acme.tools["id"]]
    at = await made(hub, acme, visibility="selected", selected_repository_ids=ids)
    for visibility in ("all", "selected"):
        answer = await hub.patch(at, headers=acme.octo, json={"visibility": visibility})
        assert answer.status_code == 204
    answer = await hub.get(f"{at}/repositories", headers=acme.octo)
    assert answer.json() == {"total_count": 0, "repositories": []}
    changes = {"selected_repository_ids": ids}
    assert (await hub.patch(at, headers=acme.octo, json=changes)).status_code == 204
    answer = await hub.get(f"{at}/repositories", headers=acme.octo)
    assert answer.json()["total_count"] == 1


async def while_another_hub(
    sql: str, hub: httpx.AsyncClient, acme: Acme, monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """Change a variable in every way, while another hub changes it as `sql` says.

    The other hub commits before the lock is taken. Return the statuses.
    """
    tools, safe = acme.tools["id"], acme.safe["id"]
    given = {"value": "x", "visibility": "selected", "selected_repository_ids": [tools]}
    statuses = []
    for number, (method, path, body) in enumerate(
        (
            ("PUT", "/repositories", {"selected_repository_ids": [safe]}),
            ("PUT", f"/repositories/{safe}", None),
            ("DELETE", f"/repositories/{tools}", None),
            ("PATCH", "", {"value": "y"}),
            ("DELETE", "", None),
        )
    ):
        name = f"OLD{number}"
        answer = await hub.post(AT, json={"name": name, **given}, headers=acme.octo)
        assert answer.status_code == 201
        with monkeypatch.context() as patch:
            patch.setattr(agent_variables, "lock", lambda db, _: db.execute(sql))
            answer = await hub.request(method, f"{AT}/{name}{path}", json=body, headers=acme.octo)
        statuses.append(answer.status_code)
    return statuses


async def test_an_event_has_the_name_that_another_hub_has_given(
    hub: httpx.AsyncClient, store: Store, acme: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "UPDATE agent_variable SET name = replace(name, 'OLD', 'NEW')"
    assert await while_another_hub(sql, hub, acme, monkeypatch) == [204] * 5
    changes = [one for one in bodies(store, "agent_variable") if one["action"] != "created"]
    assert [one["variable"]["name"] for one in changes] == [f"NEW{number}" for number in range(5)]


async def test_a_selection_that_another_hub_has_ended_cannot_be_changed(
    hub: httpx.AsyncClient, acme: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "UPDATE agent_variable SET visibility = 'all'"
    statuses = await while_another_hub(sql, hub, acme, monkeypatch)
    assert statuses == [409, 409, 409, 204, 204]


async def test_other_repositories_cannot_be_selected(
    hub: httpx.AsyncClient, store: Store, acme: Acme, seed_other: int
) -> None:
    at = await made(hub, acme, visibility="selected")
    for who, repo_id in (
        (acme.octo, seed_other),
        (acme.octo, 987654321),
        (acme.no_repo, acme.safe["id"]),
    ):
        body = {"selected_repository_ids": [acme.tools["id"], repo_id]}
        for asked in (
            hub.post(AT, headers=who, json=wanted("new", visibility="selected") | body),
            hub.patch(at, headers=who, json=body),
            hub.put(f"{at}/repositories", headers=who, json=body),
        ):
            content = assert_error(await asked, 422, "Validation Failed", code="missing")
            assert content["errors"][0]["field"] == "selected_repository_ids"
        for method in ("PUT", "DELETE"):
            answer = await hub.request(method, f"{at}/repositories/{repo_id}", headers=who)
            assert_error(answer, 404)
    assert (await hub.get(f"{at}/repositories", headers=acme.octo)).json()["total_count"] == 0


@pytest.fixture
def seed_other(store: Store, acme: Acme) -> int:
    """The id of a public repository that another account owns."""

    with transaction(store) as db:
        return repositories.create(db, accounts.create(db, "else")["id"], "where")["id"]


async def test_too_many_selected_repositories_are_refused(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    ids = list(range(1, MOST + 2))
    bad = wanted(visibility="selected", selected_repository_ids=ids)
    assert_error(await hub.post(AT, headers=acme.octo, json=bad), 422)


# Pages and limits


def _many(db: Connection, organization_id: int, count: int) -> None:
    for each in range(count):
        create(db, organization_id, f"v{each:04}", "x", "all")


async def test_a_page_has_thirty_variables_at_most(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    store.write_sync(_many, acme.org["id"], 65)
    for query, shown in (("", 30), ("?per_page=100", 30), ("?per_page=7", 7), ("?page=3", 5)):
        answer = await hub.get(AT + query, headers=acme.octo)
        assert answer.json()["total_count"] == 65
        assert len(answer.json()["variables"]) == shown
    first = await hub.get(AT, headers=acme.octo)
    assert first.json()["variables"][0]["name"] == "V0000"
    assert links(first) == {"next": f"{BASE}{AT}?page=2", "last": f"{BASE}{AT}?page=3"}


async def test_variables_of_an_organization_are_bounded(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    store.write_sync(
        lambda db: db.insert_many(
            "agent_variable",
            "organization_id, name, value, visibility, created_at, updated_at",
            [(acme.org["id"], f"V{each}", "x", "all", 0, 0) for each in range(MOST)],
        )
    )
    answer = await hub.post(AT, headers=acme.octo, json=wanted())
    content = assert_error(answer, 422, "Validation Failed", code="invalid")
    assert content["errors"][0]["message"] == "an organization has at most 1000 variables"
