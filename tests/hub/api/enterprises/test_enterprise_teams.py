"""Enterprise teams, their members, and the organizations to which they are assigned."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import Headers, bearer
from hub_client import open_client
from transactions import transaction

from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts, tokens
from store.clock import MovableClock
from store.enterprises import enterprises

TEAMS = "/enterprises/globe/teams"


@dataclass
class Globe:
    """Headers of users around the enterprise globe, with the organizations acme and beta.

    olga owns globe, mia is a member of it, and ben is a member of acme. `reading` is a token of
    olga that cannot write. The user stranger and the organization umbra are outside of globe.
    """

    olga: Headers
    mia: Headers
    reading: Headers
    ben: Headers


def _globe(db: Connection) -> Globe:
    globe = enterprises.create(db, "globe", name="The Globe")
    people = {
        login: accounts.create(db, login)["id"] for login in ("olga", "mia", "ben", "stranger")
    }
    for login in ("acme", "beta", "umbra"):
        org = accounts.create(db, login, kind="Organization")
        if login != "umbra":
            enterprises.adopt(db, globe["id"], org["id"])
        if login == "acme":
            accounts.join(db, org["id"], people["ben"], "member")
    enterprises.join(db, globe["id"], people["olga"], "owner")
    enterprises.join(db, globe["id"], people["mia"], "member")

    def by(login: str, *scopes: str) -> Headers:
        return bearer(tokens.create(db, people[login], scopes=scopes)[0])

    return Globe(
        by("olga", "admin:enterprise"),
        by("mia", "admin:enterprise"),
        by("olga", "read:enterprise"),
        by("ben", "read:enterprise"),
    )


@pytest.fixture
def globe(store: Store) -> Globe:
    return store.write_sync(_globe)


@pytest.fixture
async def client(
    store: Store, globe: Globe, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, settings, headers=globe.olga) as opened:
        yield opened


@pytest.fixture
async def team(client: httpx.AsyncClient) -> str:
    """The path of a new team that is assigned to no organization."""
    answer = await client.post(TEAMS, json={"name": "Site Reliability"})
    assert answer.status_code == 201
    return f"{TEAMS}/{answer.json()['slug']}"


async def test_a_team_shows_the_number_of_its_members(client: httpx.AsyncClient, team: str) -> None:
    first = await client.get(team)
    assert first.json()["members_count"] == 0
    await client.post(f"{team}/memberships/add", json={"usernames": ["mia", "olga"]})
    # The client's copy is out of date, though the team itself has not changed.
    for header, value in (
        ("If-None-Match", first.headers["ETag"]),
        ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ):
        second = await client.get(team, headers={header: value})
        assert (second.status_code, second.json()["members_count"]) == (200, 2)
    same = await client.patch(team, json={"description": "Day watch"})
    assert same.json()["members_count"] == 2


async def assigned(client: httpx.AsyncClient, team: str) -> list[str]:
    answer = await client.get(f"{team}/organizations")
    return [each["login"] for each in answer.json()]


def reported(store: Store) -> list[dict[str, Any]]:
    return bodies(store, "enterprise_team")


# Teams.


async def test_a_team_from_its_making_to_its_end(client: httpx.AsyncClient, store: Store) -> None:
    answer = await client.post(
        TEAMS, json={"name": "Site Reliability", "description": "Night watch", "group_id": "g1"}
    )
    made = answer.json()
    assert made["slug"] == "ent:site-reliability"
    assert made["url"] == answer.headers["Location"] == f"{BASE}{TEAMS}/ent:site-reliability"
    assert made["description"] == "Night watch"
    assert made["group_id"] == "g1"
    assert made["sync_to_organizations"] == made["organization_selection_type"] == "disabled"
    assert made["notification_setting"] == "notifications_enabled"
    for name in ("ent:site-reliability", "ENT:Site-Reliability", str(made["id"])):
        assert (await client.get(f"{TEAMS}/{name}")).json() == made
    changed = await client.patch(
        f"{TEAMS}/{made['slug']}", json={"name": "On Call", "notification_setting":
                                         "notifications_disabled", "description": None}
    )  # fmt: skip
    assert changed.json()["slug"] == "ent:on-call"
    assert changed.json()["description"] == ""
    assert changed.json()["notification_setting"] == "notifications_disabled"
    assert_error(await client.get(f"{TEAMS}/{made['slug']}"), 404)
    assert (await client.delete(f"{TEAMS}/ent:on-call")).status_code == 204
    assert (await client.get(TEAMS)).json() == []
    assert [each["action"] for each in reported(store)] == ["created", "edited", "deleted"]
    assert reported(store)[0]["enterprise"]["slug"] == "globe"


async def test_nothing_new_is_no_event(client: httpx.AsyncClient, store: Store, team: str) -> None:
    before = (await client.get(team)).json()
    answer = await client.patch(team, json={"name": None})
    assert answer.json() == before
    assert len(reported(store)) == 1


@pytest.mark.parametrize("name", ["", "!!!", "x" * 101])
async def test_names_without_a_slug_are_refused(client: httpx.AsyncClient, name: str) -> None:
    assert_error(await client.post(TEAMS, json={"name": name}), 422)


async def test_a_taken_name_is_refused(client: httpx.AsyncClient, team: str) -> None:
    answer = await client.post(TEAMS, json={"name": "site reliability!"})
    assert_error(answer, 422, code="already_exists")
    await client.post(TEAMS, json={"name": "Other"})
    answer = await client.patch(f"{TEAMS}/ent:other", json={"name": "Site Reliability"})
    assert_error(answer, 422, code="already_exists")
    assert (await client.patch(team, json={"name": "SITE reliability"})).status_code == 200


async def test_enterprise_teams_in_pages(client: httpx.AsyncClient) -> None:
    for number in range(3):
        await client.post(TEAMS, json={"name": f"t{number}"})
    answer = await client.get(TEAMS, params={"per_page": 2})
    assert [each["name"] for each in answer.json()] == ["t0", "t1"]
    assert set(links(answer)) == {"next", "last"}


# Organizations.


async def test_organizations_one_by_one(client: httpx.AsyncClient, store: Store, team: str) -> None:
    at = f"{team}/organizations"
    assert_error(await client.get(f"{at}/acme"), 404)
    answer = await client.put(f"{at}/acme")
    assert answer.status_code == 201
    assert answer.json()["login"] == "acme"
    assert (await client.get(f"{at}/acme")).json() == answer.json()
    assert await assigned(client, team) == ["acme"]
    assert (await client.get(team)).json()["organization_selection_type"] == "selected"
    assert (await client.put(f"{at}/ACME")).status_code == 201
    assert (await client.delete(f"{at}/acme")).status_code == 204
    assert (await client.delete(f"{at}/acme")).status_code == 204
    assert await assigned(client, team) == []
    actions = [each["action"] for each in reported(store)]
    assert actions == ["created", "organizations_added", "organizations_removed"]


async def test_an_event_has_the_team_as_its_organizations_changed_it(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, team: str
) -> None:
    for action, how in (("disabled", client.put), ("all", client.delete)):
        await client.patch(team, json={"organization_selection_type": action})
        clock.advance(60)
        await how(f"{team}/organizations/acme")
        shown = (await client.get(team)).json()
        assert shown["organization_selection_type"] == "selected"
        assert shown.items() >= reported(store)[-1]["team"].items()


async def test_many_organizations_at_once(
    client: httpx.AsyncClient, store: Store, team: str
) -> None:
    at = f"{team}/organizations"
    answer = await client.post(f"{at}/add", json={"organization_slugs": ["beta", "Acme", "acme"]})
    assert [each["login"] for each in answer.json()] == ["acme", "beta"]
    assert reported(store)[-1]["organizations"] == ["acme", "beta"]
    answer = await client.post(f"{at}/remove", json={"organization_slugs": ["acme"]})
    assert (answer.status_code, answer.content) == (204, b"")
    assert await assigned(client, team) == ["beta"]


@pytest.mark.parametrize("what", ["add", "remove"])
@pytest.mark.parametrize("other", ["umbra", "olga", "nobody"])
async def test_one_unknown_member_rejects_all(
    client: httpx.AsyncClient, team: str, what: str, other: str
) -> None:
    answer = await client.post(
        f"{team}/organizations/{what}", json={"organization_slugs": ["acme", other]}
    )
    assert_error(answer, 422, code="invalid")
    assert await assigned(client, team) == []
    assert_error(await client.put(f"{team}/organizations/{other}"), 404)


async def test_a_team_of_all_organizations(client: httpx.AsyncClient, team: str) -> None:
    await client.patch(team, json={"sync_to_organizations": "all"})
    assert await assigned(client, team) == ["acme", "beta"]
    assert (await client.get(f"{team}/organizations/beta")).status_code == 200
    await client.delete(f"{team}/organizations/beta")
    assert await assigned(client, team) == ["acme"]
    assert (await client.get(team)).json()["organization_selection_type"] == "selected"
    await client.patch(team, json={"organization_selection_type": "disabled"})
    assert await assigned(client, team) == []
    await client.patch(team, json={"organization_selection_type": "selected"})
    assert await assigned(client, team) == [], "`disabled` removes the earlier selection"


# Members.


async def test_members_one_by_one(client: httpx.AsyncClient, store: Store, team: str) -> None:
    at = f"{team}/memberships"
    assert_error(await client.get(f"{at}/ben"), 404)
    answer = await client.put(f"{at}/ben")
    assert answer.status_code == 201
    assert answer.json()["login"] == "ben"
    assert (await client.get(f"{at}/BEN")).json() == answer.json()
    assert [each["login"] for each in (await client.get(at)).json()] == ["ben"]
    assert (await client.delete(f"{at}/ben")).status_code == 204
    assert (await client.get(at)).json() == []
    assert [each["action"] for each in reported(store)][1:] == ["members_added", "members_removed"]


async def test_many_members_at_once(client: httpx.AsyncClient, store: Store, team: str) -> None:
    at = f"{team}/memberships"
    answer = await client.post(f"{at}/add", json={"usernames": ["mia", "ben", "olga"]})
    assert sorted(each["login"] for each in answer.json()) == ["ben", "mia", "olga"]
    answer = await client.post(f"{at}/remove", json={"usernames": ["MIA"]})
    assert [each["login"] for each in answer.json()] == ["mia"]
    assert reported(store)[-1]["members"] == ["mia"]


@pytest.mark.parametrize("name", ["add", "remove"])
async def test_names_may_equal_the_last_segment_of_an_operation(
    client: httpx.AsyncClient, store: Store, team: str, name: str
) -> None:
    with transaction(store) as db:
        globe = enterprises.by_slug(db, "globe")
        assert globe is not None
        org = accounts.create(db, name, kind="Organization")
        enterprises.adopt(db, globe["id"], org["id"])
    path = f"{team}/organizations/{name}"
    assert (await client.put(path)).status_code == 201
    assert (await client.get(path)).json()["login"] == name
    assert (await client.delete(path)).status_code == 204
    assert_error(await client.get(path), 404)
    assert (await client.post(path, json={"organization_slugs": []})).is_success


@pytest.mark.parametrize("other", ["stranger", "acme", "nobody"])
async def test_only_members_of_the_enterprise(
    client: httpx.AsyncClient, team: str, other: str
) -> None:
    at = f"{team}/memberships"
    assert_error(await client.post(f"{at}/add", json={"usernames": ["mia", other]}), 422)
    assert_error(await client.put(f"{at}/{other}"), 404)
    assert (await client.get(at)).json() == []


# Permissions.


async def test_members_see_enterprise_teams_and_owners_change_them(
    client: httpx.AsyncClient, globe: Globe, team: str
) -> None:
    at = f"{team}/organizations/acme"
    for headers in (globe.mia, globe.reading, globe.ben):
        assert (await client.get(TEAMS, headers=headers)).status_code == 200
    assert (await client.put(at, headers=globe.mia)).status_code == 201
    assert_error(await client.put(at, headers=globe.reading), 403)
    assert_error(await client.post(TEAMS, json={"name": "x"}, headers=globe.mia), 403)
    assert_error(await client.delete(team, headers=globe.reading), 403)


async def test_an_organization_belongs_to_one_enterprise_only(store: Store, globe: Globe) -> None:
    def adopted(db: Connection) -> str:
        other = enterprises.create(db, "moon")
        acme = accounts.by_login(db, "acme")
        assert acme is not None
        try:
            enterprises.adopt(db, other["id"], acme["id"])
        except Exception as error:
            return str(error)
        return "adopted"

    assert store.write_sync(adopted) == "the organization is one of the enterprise 'globe'"
