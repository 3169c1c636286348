"""The values of an organization's issue fields on an issue."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, by_id, links
from bearer import Headers, bearer, by
from hub_client import open_client
from issue_world import Platform, issue, pull
from required import required
from statement_log import statements
from store_world import World
from transactions import transaction

from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, sso
from store.clock import MovableClock, iso
from store.issues import issue_fields, issues
from store.repositories import repositories

TOOLS = "/repos/acme/tools"
ONE = f"{TOOLS}/issues/1"
VALUES = f"{ONE}/issue-field-values"
PRIORITIES = [("low", "green", 2), ("high", "red", 1), ("a, b", "gray", 3)]


@pytest.fixture
async def hub(store: Store, acme: Row, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client without credentials. Each response is checked against the contract."""
    async with open_client(store, settings) as opened:
        yield opened


def _acme(db: Connection) -> Row:
    acme = accounts.create(db, "acme", kind="Organization")
    repo = repositories.create(db, acme["id"], "tools")
    for login, role in (("writer", "write"), ("triager", "triage")):
        repositories.grant(db, repo["id"], accounts.create(db, login)["id"], role)
    accounts.join(db, acme["id"], accounts.create(db, "member")["id"], "member")
    return acme


@pytest.fixture
def acme(store: Store, seed: Any) -> Row:
    """The organization acme with the repository acme/tools.

    writer and triager have the roles `write` and `triage` in acme/tools. member belongs to acme.
    """
    return store.write_sync(_acme)


def token(store: Store, login: str, **given: Any) -> Headers:
    account = required(store.read_sync(accounts.by_login, login))
    return by(store, account, **({"scopes": ["repo"]} | given))


@pytest.fixture
def writer(store: Store, acme: Row) -> dict[str, str]:
    return token(store, "writer")


@pytest.fixture
def platform(store: Store, clock: MovableClock, acme: Row) -> Platform:
    """A platform that reports events of acme/tools, and has reported issue 1."""
    repo = store.read_sync(repositories.find, "acme", "tools")
    assert repo is not None
    found = Platform(World(store, clock, {}, repo))
    found.report("issues", "opened", issue=issue())
    return found


@pytest.fixture
def fields(store: Store, acme: Row, platform: Platform) -> dict[str, int]:
    """The ids of public issue fields, one of each type, by type."""

    with transaction(store) as db:
        found = {}
        for kind in issue_fields.TYPES:
            options = [
                {"name": name, "color": color, "priority": priority}
                for name, color, priority in PRIORITIES
            ]
            field = issue_fields.create(
                db,
                acme["id"],
                f"The {kind}",
                kind,
                visibility="all",
                options=options if "select" in kind else None,
            )
            found[kind] = int(field["id"])
        return found


def of(answer: httpx.Response) -> dict[str, Any]:
    """The values in a successful response, by the type of the field."""
    assert answer.status_code == 200, answer.text
    return {one["data_type"]: one["value"] for one in answer.json()}


def body(fields: dict[str, int], **values: Any) -> dict[str, Any]:
    return {
        "issue_field_values": [
            {"field_id": fields[kind], "value": value} for kind, value in values.items()
        ]
    }


async def test_an_earlier_event_changes_no_value_back(
    hub: httpx.AsyncClient,
    platform: Platform,
    clock: MovableClock,
    fields: dict[str, int],
    writer: dict[str, str],
) -> None:
    earlier = issue(title="Theirs", updated_at=iso(clock.now()))
    clock.advance(60)
    await hub.post(VALUES, json=body(fields, text="Ours", number=3), headers=writer)
    changed = (await hub.get(ONE)).json()["updated_at"]
    for kind, value in (("text", "Theirs"), ("date", "2026-11-21")):
        field = {"name": f"The {kind}", "data_type": kind}
        given = {"issue_field": field, "issue_field_value": {"value": value}}
        platform.report("issues", "field_added", issue=earlier, **given)
    field = {"name": "The number", "data_type": "number"}
    platform.report("issues", "field_removed", issue=earlier, issue_field=field)
    found = of(await hub.get(VALUES))
    assert found == {"text": "Ours", "number": 3, "date": "2026-11-21"}
    shown = (await hub.get(ONE)).json()
    assert (shown["title"], shown["updated_at"]) == ("Theirs", changed)


GOOD = [
    ("text", "Hm", "Hm"),
    ("text", "", ""),
    ("number", 3, 3),
    ("number", -2.5, -2.5),
    ("number", "12", 12),
    ("number", "-0.5", -0.5),
    ("number", 2**53, 2**53),
    ("date", "2026-11-21", "2026-11-21"),
    ("date", "20261121", "2026-11-21"),
    ("date", "2026-W47-6", "2026-11-21"),
    ("multi_select", ["low", "high"], "high,low"),
    ("multi_select", ["high", "high"], "high"),
]
BAD = [
    ("text", 3),
    ("text", ["low"]),
    ("text", "x" * 4097),
    ("number", "many"),
    ("number", "1e5"),
    ("number", "NaN"),
    ("number", ""),
    ("number", ["1"]),
    ("number", 2**53 + 1),
    ("number", 1e300),
    ("date", "tomorrow"),
    ("date", "2026-02-30"),
    ("date", "21.11.2026"),
    ("date", 20261121),
    ("date", ["2026-11-21"]),
    ("single_select", "middle"),
    ("single_select", "High"),
    ("single_select", 1),
    ("single_select", ["high"]),
    ("multi_select", ["high", "middle"]),
    ("multi_select", []),
    ("multi_select", 4),
]


@pytest.mark.parametrize(("kind", "value", "shown"), GOOD)
async def test_values_of_each_type(
    hub: httpx.AsyncClient,
    fields: dict[str, int],
    writer: dict[str, str],
    kind: str,
    value: Any,
    shown: Any,
) -> None:
    answer = await hub.post(VALUES, json=body(fields, **{kind: value}), headers=writer)
    assert of(answer) == {kind: shown}
    assert of(await hub.get(VALUES)) == {kind: shown}
    if not isinstance(value, list):
        again = await hub.put(VALUES, json=body(fields, **{kind: value}), headers=writer)
        assert again.json() == answer.json()


@pytest.mark.parametrize(("kind", "value"), BAD)
async def test_values_of_the_wrong_type_are_refused(
    hub: httpx.AsyncClient,
    store: Store,
    fields: dict[str, int],
    writer: dict[str, str],
    kind: str,
    value: Any,
) -> None:
    """If one value is invalid, the request changes no other value either."""
    given = body(fields, **{"date" if kind == "text" else "text": "2026-11-21", kind: value})
    for ask in (hub.post, hub.put):
        assert_error(await ask(VALUES, json=given, headers=writer), 422)
    assert (await hub.get(VALUES)).json() == []
    assert bodies(store, "issues") == []


async def test_options_are_chosen_by_name(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    chosen = body(fields, single_select="high", multi_select=["low", "a, b"])
    answer = await hub.post(VALUES, json=chosen, headers=writer)
    single, multi = answer.json()
    high = single["single_select_option"]
    assert (high["name"], high["color"]) == ("high", "red")
    assert single["value"] == high["id"]
    assert "multi_select_options" not in single
    assert [(one["name"], one["color"]) for one in multi["multi_select_options"]] == [
        ("low", "green"),
        ("a, b", "gray"),
    ]
    assert multi["value"] == "low,a, b"
    assert "single_select_option" not in multi
    assert single["issue_field_id"] == fields["single_select"]
    assert single["issue_field_name"] == "The single_select"
    assert single["node_id"]


async def test_several_options_in_one_text(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    for text, shown in (("low, high", "high,low"), ("high", "high"), ("a, b", "a, b")):
        answer = await hub.put(VALUES, json=body(fields, multi_select=text), headers=writer)
        assert of(answer) == {"multi_select": shown}
    # Only POST accepts an array of options.
    answer = await hub.put(VALUES, json=body(fields, multi_select=["low"]), headers=writer)
    assert_error(answer, 422)


async def test_adding_leaves_the_others(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a", number=1), headers=writer)
    answer = await hub.post(VALUES, json=body(fields, text="b", date="2026-01-01"), headers=writer)
    assert of(answer) == {"text": "b", "number": 1, "date": "2026-01-01"}


async def test_adding_nothing_takes_all_away(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a", number=1), headers=writer)
    answer = await hub.post(VALUES, json={"issue_field_values": []}, headers=writer)
    assert answer.json() == []
    assert (await hub.get(VALUES)).json() == []


async def test_setting_replaces_all(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a", number=1), headers=writer)
    answer = await hub.put(VALUES, json=body(fields, number=2, date="2026-01-01"), headers=writer)
    assert of(answer) == {"number": 2, "date": "2026-01-01"}
    assert (await hub.put(VALUES, json=body(fields), headers=writer)).json() == []


@pytest.mark.parametrize("content", [b"", b" ", b"{}"])
async def test_an_empty_body_changes_no_value(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str], content: bytes
) -> None:
    await hub.post(VALUES, json=body(fields, text="a"), headers=writer)
    for ask in (hub.post, hub.put):
        assert of(await ask(VALUES, content=content, headers=writer)) == {"text": "a"}


async def test_one_value_is_taken_away(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a", number=1), headers=writer)
    path = f"{VALUES}/{fields['text']}"
    assert (await hub.delete(path, headers=writer)).status_code == 204
    assert of(await hub.get(VALUES)) == {"number": 1}
    assert_error(await hub.delete(path, headers=writer), 404)


async def test_only_fields_of_the_repositorys_organization(
    hub: httpx.AsyncClient, store: Store, fields: dict[str, int], writer: dict[str, str]
) -> None:
    def elsewhere(db: Connection) -> int:
        other = accounts.create(db, "umbra", kind="Organization")
        return int(issue_fields.create(db, other["id"], "Theirs", "text")["id"])

    for field_id in (store.write_sync(elsewhere), 987654321):
        given = {"issue_field_values": [{"field_id": field_id, "value": "x"}]}
        for ask in (hub.post, hub.put):
            answer = await ask(VALUES, json=given, headers=writer)
            assert_error(answer, 422, "Validation Failed", code="missing")


async def test_a_users_repository_has_no_fields(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock, seed: Any, fields: dict[str, int]
) -> None:
    hello = store.read_sync(repositories.get, seed.hello["id"])
    assert hello is not None
    Platform(World(store, clock, {}, hello)).report("issues", "opened", issue=issue())
    path = "/repos/octo/hello/issues/1/issue-field-values"
    assert (await hub.get(path)).json() == []
    answer = await hub.post(path, json=body(fields, text="x"), headers=bearer(seed.token))
    assert_error(answer, 422)


@pytest.mark.parametrize(
    "given",
    [
        {"issue_field_values": {}},
        {"issue_field_values": [{"value": "x"}]},
        {"issue_field_values": [{"field_id": 1}]},
        {"issue_field_values": [{"field_id": 1, "value": None}]},
        {"issue_field_values": [{"field_id": "1", "value": "x"}]},
        {"issue_field_values": [{"field_id": 1, "value": True}]},
        {"issue_field_values": [{"field_id": 1, "value": {}}]},
        {"issue_field_values": [{"field_id": 1, "value": "a\0b"}]},
        {"issue_field_values": [{"field_id": 1, "value": "x", "more": 1}]},
        {"issue_field_values": [{"field_id": 2**63, "value": "x"}]},
        {"issue_field_values": [{"field_id": 1, "value": "x"}] * 2},
        {"issue_field_values": [{"field_id": n, "value": "x"} for n in range(26)]},
    ],
)
async def test_a_body_that_is_no_list_of_values_is_rejected(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str], given: Any
) -> None:
    for ask in (hub.post, hub.put):
        assert_error(await ask(VALUES, json=given, headers=writer), 422)


async def test_writers_may_change_field_values(
    hub: httpx.AsyncClient, store: Store, fields: dict[str, int], writer: dict[str, str]
) -> None:
    given = body(fields, text="x")
    await hub.post(VALUES, json=given, headers=writer)
    one = f"{VALUES}/{fields['text']}"
    for headers in (token(store, "triager"), token(store, "member"), token(store, "reader")):
        for answer in (
            await hub.post(VALUES, json=given, headers=headers),
            await hub.put(VALUES, json=given, headers=headers),
            await hub.delete(one, headers=headers),
        ):
            assert_error(answer, 403, "Must have push access to Repository.")
    assert_error(await hub.post(VALUES, json=given), 401)


@pytest.mark.parametrize(
    ("permissions", "status"),
    [
        ({"issues": "write"}, 200),
        ({"pull_requests": "write"}, 200),
        ({"issues": "read", "pull_requests": "read"}, 403),
        ({"contents": "write"}, 403),
    ],
)
async def test_values_need_write_permissions(
    hub: httpx.AsyncClient,
    store: Store,
    fields: dict[str, int],
    permissions: dict[str, str],
    status: int,
) -> None:
    headers = token(store, "writer", kind="fine_grained", permissions=permissions, scopes=[])
    for ask in (hub.post, hub.put):
        answer = await ask(VALUES, json=body(fields, text="x"), headers=headers)
        assert answer.status_code == status


async def test_values_of_private_fields_are_shown_to_members_only(
    hub: httpx.AsyncClient,
    store: Store,
    acme: Row,
    fields: dict[str, int],
    writer: dict[str, str],
) -> None:
    secret = store.write_sync(issue_fields.create, acme["id"], "Cost", "number")
    # A user with write access may set the private field, but cannot read it later.
    for ask in (hub.post, hub.put):
        given = body({**fields, "cost": secret["id"]}, text="a", cost=7)
        assert of(await ask(VALUES, json=given, headers=writer)) == {"text": "a", "number": 7}
    answer = await hub.post(VALUES, json=body(fields, text="a"), headers=writer)
    assert of(answer) == {"text": "a"}
    assert of(await hub.get(VALUES)) == {"text": "a"}
    assert of(await hub.get(VALUES, headers=writer)) == {"text": "a"}
    answer = await hub.get(VALUES, headers=token(store, "member"))
    assert of(answer) == {"text": "a", "number": 7}
    assert of(await hub.get(VALUES, headers=token(store, "reader"))) == {"text": "a"}
    # A member sees the private field only with a fitting scope or permission of the token.
    for scopes, inside in (
        ([], False),
        (["gist", "admin:repo_hook"], False),
        (["public_repo"], True),
        (["read:org"], True),
    ):
        answer = await hub.get(VALUES, headers=token(store, "member", scopes=scopes))
        assert ("number" in of(answer)) == inside, scopes
    for permissions, inside in (({"contents": "write"}, False), ({"issues": "read"}, True)):
        fine = {"kind": "fine_grained", "permissions": permissions, "scopes": []}
        answer = await hub.get(VALUES, headers=token(store, "member", **fine))
        assert ("number" in of(answer)) == inside, permissions


async def test_values_of_private_fields_need_the_single_sign_on(
    hub: httpx.AsyncClient, store: Store, acme: Row, fields: dict[str, int], writer: dict[str, str]
) -> None:
    secret = store.write_sync(issue_fields.create, acme["id"], "Cost", "number")
    given = body({"cost": secret["id"]}, cost=7)
    await hub.post(VALUES, json=given, headers=writer)
    member = token(store, "member")
    assert of(await hub.get(VALUES, headers=member)) == {"number": 7}
    store.write_sync(sso.enforce, acme["id"], True)
    assert of(await hub.get(VALUES, headers=member)) == {}


async def test_values_in_an_archived_repository_stay(
    hub: httpx.AsyncClient, store: Store, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a"), headers=writer)
    store.write_sync(lambda db: db.execute("UPDATE repository SET archived = 1"))
    for method, at in (("POST", VALUES), ("PUT", VALUES), ("DELETE", f"{VALUES}/{fields['text']}")):
        answer = await hub.request(method, at, json=body(fields, text="b"), headers=writer)
        assert_error(answer, 403, "Repository was archived so is read-only.")
    assert of(await hub.get(VALUES)) == {"text": "a"}


async def test_issue_field_values_in_pages(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a", number=1, date="2026-01-01"), headers=writer)
    answer = await hub.get(f"{VALUES}?per_page=2&page=2")
    assert of(answer) == {"date": "2026-01-01"}
    assert links(answer)["first"] == f"{by_id(VALUES, 3)}?per_page=2&page=1"


async def test_the_platforms_events(
    hub: httpx.AsyncClient, store: Store, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a", multi_select=["low"]), headers=writer)
    await hub.post(VALUES, json=body(fields, text="b", multi_select=["low"]), headers=writer)
    await hub.put(VALUES, json=body(fields, text="b"), headers=writer)
    await hub.delete(f"{VALUES}/{fields['text']}", headers=writer)
    found = bodies(store, "issues")
    reported = [
        (
            event["action"],
            event["issue_field"]["name"],
            event["issue_field_value"]["value"],
            event.get("changes", {}).get("issue_field_value", {}).get("from", {}).get("value"),
        )
        for event in found
    ]
    # An unchanged value emits no event.
    assert reported == [
        ("field_added", "The text", "a", None),
        ("field_added", "The multi_select", "low", None),
        ("field_added", "The text", "b", "a"),
        ("field_removed", "The multi_select", "low", None),
        ("field_removed", "The text", "b", None),
    ]
    first = found[0]
    assert first["issue"]["number"] == 1
    assert first["issue_field"]["data_type"] == first["issue_field"]["field_type"] == "text"
    ids = [(event["issue_field"]["name"], event["issue_field_value"]["id"]) for event in found]
    assert len(set(ids)) == 2, "each value keeps its id"
    assert (
        found[2]["changes"]["issue_field_value"]["from"]["id"] == first["issue_field_value"]["id"]
    )
    assert first["organization"]["login"] == "acme"
    assert first["repository"]["full_name"] == "acme/tools"
    assert first["sender"]["login"] == "writer"


async def test_writing_counts_as_content(
    store: Store, fields: dict[str, int], settings: HubSettings, writer: dict[str, str]
) -> None:
    few = settings.model_copy(update={"content_per_minute": 2})
    async with open_client(store, few) as hub:
        for ask in (hub.post, hub.put):
            answer = await ask(VALUES, json=body(fields, text="a"), headers=writer)
            assert answer.status_code == 200
        answer = await hub.post(VALUES, json=body(fields, text="a"), headers=writer)
        assert answer.status_code == 403
        assert "secondary rate limit" in answer.json()["message"]


async def test_a_pull_request_has_field_values(
    hub: httpx.AsyncClient, platform: Platform, fields: dict[str, int], writer: dict[str, str]
) -> None:
    platform.report("pull_request", "opened", pull_request=pull(2))
    path = f"{TOOLS}/issues/2/issue-field-values"
    assert of(await hub.post(path, json=body(fields, text="a"), headers=writer)) == {"text": "a"}


# Missing and deleted issues


async def test_values_of_a_deleted_issue_are_gone(
    hub: httpx.AsyncClient, platform: Platform, fields: dict[str, int], writer: dict[str, str]
) -> None:
    await hub.post(VALUES, json=body(fields, text="a"), headers=writer)
    platform.report("issues", "deleted", issue=issue())
    given = body(fields, text="b")
    for answer in (
        await hub.get(VALUES),
        await hub.post(VALUES, json=given, headers=writer),
        await hub.put(VALUES, json=given, headers=writer),
        await hub.delete(f"{VALUES}/{fields['text']}", headers=writer),
    ):
        assert_error(answer, 410, "This issue was deleted")


async def test_values_in_a_renamed_repository_redirect(
    hub: httpx.AsyncClient, store: Store, platform: Platform, fields: dict[str, int]
) -> None:
    repo = platform.world.repo
    store.write_sync(repositories.rename, repo, "gear")
    answer = await hub.get(f"{VALUES}?per_page=5")
    assert answer.status_code == 301
    wanted = f"{BASE}/repositories/{repo['id']}/issues/1/issue-field-values?per_page=5"
    assert answer.headers["Location"] == wanted
    assert (await hub.get(wanted)).json() == []


async def test_values_of_a_transferred_issue_redirect(
    hub: httpx.AsyncClient,
    store: Store,
    acme: Row,
    platform: Platform,
    fields: dict[str, int],
    writer: dict[str, str],
) -> None:
    gear = store.write_sync(repositories.create, acme["id"], "gear")
    store.write_sync(issues.move, platform.issue(), "acme/gear", 7)
    url = f"{BASE}/repositories/{gear['id']}/issues/7/issue-field-values"
    answer = await hub.get(VALUES)
    assert (answer.status_code, answer.headers["Location"]) == (301, url)
    answer = await hub.post(VALUES, json=body(fields, text="a"), headers=writer)
    assert (answer.status_code, answer.headers["Location"]) == (307, url)
    answer = await hub.delete(f"{VALUES}/{fields['text']}", headers=writer)
    assert answer.headers["Location"] == f"{url}/{fields['text']}"


async def test_unknown_field_values_are_not_found(
    hub: httpx.AsyncClient, fields: dict[str, int], writer: dict[str, str]
) -> None:
    given = body(fields, text="a")
    path = f"{TOOLS}/issues/99/issue-field-values"
    assert_error(await hub.get(path), 404)
    assert_error(await hub.post(path, json=given, headers=writer), 404)
    assert_error(await hub.put(path, json=given, headers=writer), 404)
    assert_error(await hub.delete(f"{VALUES}/987654321", headers=writer), 404)


async def test_more_values_take_no_more_statements(
    hub: httpx.AsyncClient,
    fields: dict[str, int],
    writer: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await hub.post(VALUES, json=body(fields, single_select="high"), headers=writer)
    await hub.get(VALUES)
    asked = statements(monkeypatch)
    await hub.get(VALUES)
    one = len(asked)
    many = body(fields, single_select="low", multi_select=["low", "high"], text="a", number=1)
    await hub.post(VALUES, json=many, headers=writer)
    asked.clear()
    await hub.get(VALUES)
    assert len(asked) == one
