"""The issue fields of an organization."""

from collections.abc import AsyncIterator
from typing import Any, get_args

import httpx
import pytest
from assertions import assert_error, bodies
from bearer import Headers, by
from hub_client import open_client
from required import required

from hub.api.issues.issue_field_serializers import Color
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts
from store.issues import issue_field_options, issue_field_values, issue_fields, issues
from store.projection import projection_table
from store.repositories import repositories

FIELDS = "/orgs/acme/issue-fields"
HIGH = {"name": "high", "color": "red", "priority": 1}
LOW = {"name": "low", "color": "green", "priority": 2, "description": "Some day"}


def _acme(db: Connection, owner_id: int) -> Row:
    acme = accounts.create(db, "acme", kind="Organization")
    accounts.join(db, acme["id"], owner_id, "admin")
    accounts.join(db, acme["id"], accounts.create(db, "member")["id"], "member")
    repositories.create(db, acme["id"], "tools")
    return acme


@pytest.fixture
def acme(store: Store, seed: Any) -> Row:
    """The organization acme with the repository acme/tools. octo owns acme."""
    return store.write_sync(_acme, seed.octo["id"])


@pytest.fixture
async def hub(
    store: Store, seed: Any, acme: Row, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a token of octo. Each response is checked against the contract."""
    async with open_client(store, settings, headers=token(store, "octo")) as opened:
        yield opened


def token(store: Store, login: str, **given: Any) -> Headers:
    account = required(store.read_sync(accounts.by_login, login))
    return by(store, account, **({"scopes": ["admin:org"]} | given))


async def make(hub: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    wanted = {"name": "Priority", "data_type": "single_select", "options": [HIGH, LOW]}
    answer = await hub.post(FIELDS, json=wanted | given)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def names(field: dict[str, Any]) -> list[str]:
    return [option["name"] for option in field["options"]]


async def test_an_issue_field_is_made(hub: httpx.AsyncClient) -> None:
    field = await make(hub, description="How soon", visibility="all")
    high, low = field.pop("options")
    assert field.pop("id")
    assert field.pop("node_id")
    moments = {"created_at": "2026-11-21T07:33:00Z", "updated_at": "2026-11-21T07:33:00Z"}
    assert field == {
        "name": "Priority",
        "description": "How soon",
        "data_type": "single_select",
        "visibility": "all",
        **moments,
    }
    assert low.pop("id") != high.pop("id")
    assert high == HIGH | moments | {"description": None}
    assert low == LOW | moments


@pytest.mark.parametrize("kind", ["text", "number", "date"])
async def test_nothing_is_chosen_from(hub: httpx.AsyncClient, kind: str) -> None:
    field = await make(hub, data_type=kind, options=None)
    assert field["options"] is None
    # By default, only members of the organization see a field.
    assert field["visibility"] == "organization_members_only"


async def test_issue_fields_are_listed_oldest_first(hub: httpx.AsyncClient) -> None:
    assert (await hub.get(FIELDS)).json() == []
    made = [await make(hub, name=name) for name in ("Z", "A")]
    assert (await hub.get(FIELDS)).json() == made


async def test_options_are_in_the_order_of_their_priority(hub: httpx.AsyncClient) -> None:
    assert names(await make(hub, options=[LOW, HIGH])) == ["high", "low"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"options": None}, "a field of type single_select must have options"),
        ({"options": []}, "a field of type single_select must have options"),
        ({"data_type": "text"}, "a field of type text cannot have options"),
        ({"options": [HIGH, {**LOW, "name": "High"}]}, "each option must have a name of its own"),
        (
            {"options": [{**HIGH, "name": f"o{n}"} for n in range(51)]},
            "a field has at most 50 options",
        ),
        ({"name": " "}, "a name must not be blank"),
        ({"options": [{**HIGH, "name": " "}]}, "a name must not be blank"),
    ],
)
async def test_invalid_issue_fields_are_rejected(
    hub: httpx.AsyncClient, given: Any, said: str
) -> None:
    wanted = {"name": "Priority", "data_type": "single_select", "options": [HIGH, LOW]}
    assert_error(await hub.post(FIELDS, json=wanted | given), 422, said)
    assert (await hub.get(FIELDS)).json() == []


@pytest.mark.parametrize(
    "given",
    [
        {"data_type": "colour"},
        {"visibility": "nobody"},
        {"name": "n" * 101},
        {"name": "a\0b"},
        {"description": "d" * 1001},
        {"options": [{"name": "high"}]},
        {"options": [{**HIGH, "color": "beige"}]},
        {"options": [{**HIGH, "priority": -1}]},
        {"options": [{**HIGH, "priority": 2**31}]},
    ],
)
async def test_a_field_with_invalid_members_is_rejected(hub: httpx.AsyncClient, given: Any) -> None:
    wanted = {"name": "Priority", "data_type": "single_select", "options": [HIGH, LOW]}
    assert_error(await hub.post(FIELDS, json=wanted | given), 422)


async def test_a_name_is_one_fields(hub: httpx.AsyncClient) -> None:
    await make(hub)
    other = await make(hub, name="Effort", data_type="number", options=None)
    again = {"name": "PRIORITY", "data_type": "text"}
    taken = "the organization has an issue field {!r} already"
    assert_error(await hub.post(FIELDS, json=again), 422, taken.format("PRIORITY"))
    path = f"{FIELDS}/{other['id']}"
    answer = await hub.patch(path, json={"name": "priority"})
    assert_error(answer, 422, taken.format("priority"))
    # A field may change the case of its own name.
    answer = await hub.patch(path, json={"name": "EFFORT"})
    assert answer.json()["name"] == "EFFORT"


async def test_issue_fields_of_an_organization_are_bounded(hub: httpx.AsyncClient) -> None:
    for number in range(issue_fields.MOST):
        await make(hub, name=f"F{number}", data_type="text", options=None)
    answer = await hub.post(FIELDS, json={"name": "more", "data_type": "text"})
    assert_error(answer, 422, "an organization has at most 25 issue fields")


async def test_an_issue_field_is_edited(hub: httpx.AsyncClient, clock: Any) -> None:
    field = await make(hub, description="How soon")
    path = f"{FIELDS}/{field['id']}"
    clock.advance(60)
    changed = (await hub.patch(path, json={"name": "Urgency", "visibility": "all"})).json()
    assert changed == field | {
        "name": "Urgency",
        "visibility": "all",
        "updated_at": "2026-11-21T07:34:00Z",
    }
    assert (await hub.patch(path, json={"description": None})).json()["description"] is None
    assert (await hub.patch(path, json={})).status_code == 200


async def test_options_are_kept_renamed_added_and_removed(hub: httpx.AsyncClient) -> None:
    field = await make(hub)
    high, low = field["options"]
    path = f"{FIELDS}/{field['id']}"
    wanted = [
        {**HIGH, "id": high["id"], "name": "urgent", "priority": 5},
        {**LOW, "name": "LOW", "color": "blue"},
        {**HIGH, "name": "high"},
    ]
    changed = (await hub.patch(path, json={"options": wanted})).json()
    by_name = {one["name"]: one for one in changed["options"]}
    assert by_name["urgent"]["id"] == high["id"]
    # An option without an id keeps the existing option with its name.
    assert (by_name["LOW"]["id"], by_name["LOW"]["color"]) == (low["id"], "blue")
    assert by_name["high"]["id"] not in (high["id"], low["id"])
    assert names(changed) == ["high", "LOW", "urgent"]
    answer = await hub.patch(path, json={"options": [HIGH]})
    assert names(answer.json()) == ["high"]


async def test_names_are_exchanged(hub: httpx.AsyncClient) -> None:
    field = await make(hub)
    high, low = field["options"]
    wanted = [{**HIGH, "id": low["id"]}, {**LOW, "id": high["id"]}]
    changed = (await hub.patch(f"{FIELDS}/{field['id']}", json={"options": wanted})).json()
    assert {one["id"]: one["name"] for one in changed["options"]} == {
        low["id"]: "high",
        high["id"]: "low",
    }


async def test_wrong_options_are_refused(hub: httpx.AsyncClient) -> None:
    field = await make(hub)
    other = await make(hub, name="Other")
    path = f"{FIELDS}/{field['id']}"
    own, strange = field["options"][0]["id"], other["options"][0]["id"]
    for options in (
        [],
        [{**HIGH, "id": strange}],
        [{**HIGH, "id": own}, {**LOW, "id": own}],
        [HIGH, HIGH],
    ):
        assert_error(await hub.patch(path, json={"options": options}), 422)
    plain = await make(hub, name="Text", data_type="text", options=None)
    answer = await hub.patch(f"{FIELDS}/{plain['id']}", json={"options": [HIGH]})
    assert_error(answer, 422, "a field of type text cannot have options")
    assert (await hub.get(FIELDS)).json()[0] == field


def _filled(db: Connection, field_ids: list[int], chosen: list[str]) -> Row:
    repo = repositories.find(db, "acme", "tools")
    assert repo is not None
    issues.put(db, repo, {"number": 1, "title": "x"}, projection_table.projected_events(db))
    issue = issues.get(db, repo["id"], 1)
    assert issue is not None
    fields = issue_fields.of(db, field_ids)
    wanted = {
        number: issue_field_values.assignment_of(
            field, chosen if field["data_type"] == "multi_select" else chosen[0]
        )
        for number, field in fields.items()
    }
    issue_field_values.fill(db, issue, wanted)
    return issue


def shown(store: Store, issue: Row) -> dict[str, list[str]]:
    rows = store.read_sync(issue_field_values.of_issue, issue["id"])
    return {row["name"]: [option["name"] for option in row["options"]] for row in rows}


async def test_an_option_that_goes_is_gone_from_the_issues(
    hub: httpx.AsyncClient, store: Store
) -> None:
    one = await make(hub)
    many = await make(hub, name="Several", data_type="multi_select")
    issue = store.write_sync(_filled, [one["id"], many["id"]], ["high", "low"])
    assert shown(store, issue) == {"Priority": ["high"], "Several": ["high", "low"]}
    for field in (one, many):
        await hub.patch(f"{FIELDS}/{field['id']}", json={"options": [LOW]})
    # The removed option was the only one of Priority, so the issue has no value for it.
    assert shown(store, issue) == {"Several": ["low"]}


async def test_a_field_that_goes_is_gone_from_the_issues(
    hub: httpx.AsyncClient, store: Store
) -> None:
    field = await make(hub)
    issue = store.write_sync(_filled, [field["id"]], ["high"])
    path = f"{FIELDS}/{field['id']}"
    assert (await hub.delete(path)).status_code == 204
    assert shown(store, issue) == {}
    assert (await hub.get(FIELDS)).json() == []
    assert_error(await hub.delete(path), 404)
    assert_error(await hub.patch(path, json={"name": "x"}), 404)


async def test_issue_fields_are_changed_by_owners_only(
    hub: httpx.AsyncClient, store: Store
) -> None:
    field = await make(hub)
    one = f"{FIELDS}/{field['id']}"
    member = token(store, "member")
    assert (await hub.get(FIELDS, headers=member)).status_code == 200
    for answer in (
        await hub.post(FIELDS, json={"name": "x", "data_type": "text"}, headers=member),
        await hub.patch(one, json={"name": "x"}, headers=member),
        await hub.delete(one, headers=member),
    ):
        assert_error(answer, 403, "Must be an owner of the organization.")
    assert_error(await hub.get(FIELDS, headers=token(store, "reader")), 404)
    reading = token(store, "octo", scopes=["read:org"])
    assert (await hub.get(FIELDS, headers=reading)).status_code == 200
    assert_error(await hub.delete(one, headers=reading), 403)


async def test_another_organizations_field(hub: httpx.AsyncClient, store: Store) -> None:
    def elsewhere(db: Connection) -> int:
        other = accounts.create(db, "umbra", kind="Organization")
        return int(issue_fields.create(db, other["id"], "Theirs", "text")["id"])

    path = f"{FIELDS}/{store.write_sync(elsewhere)}"
    assert_error(await hub.patch(path, json={"name": "x"}), 404)
    assert_error(await hub.delete(path), 404)
    # octo is a user, and users have no issue fields.
    assert_error(await hub.get("/orgs/octo/issue-fields"), 404)


async def test_the_hubs_own_events(hub: httpx.AsyncClient, store: Store) -> None:
    field = await make(hub)
    path = f"{FIELDS}/{field['id']}"
    for _ in range(2):
        await hub.patch(path, json={"name": "Urgency", "options": field["options"]})
    await hub.delete(path)
    found = bodies(store, "issue_field")
    assert [(one["action"], one["issue_field"]["name"]) for one in found] == [
        ("created", "Priority"),
        ("edited", "Urgency"),
        ("deleted", "Urgency"),
    ]
    assert {one["organization"]["login"] for one in found} == {"acme"}
    assert {one["sender"]["login"] for one in found} == {"octo"}


def test_the_colors_are_those_of_the_api() -> None:

    assert get_args(Color) == issue_field_options.COLORS
