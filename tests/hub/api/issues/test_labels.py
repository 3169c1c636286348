"""Labels of a repository are created, changed and deleted through the API."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies
from bearer import Headers, by
from issue_world import Platform, issue

from store import Store
from store.accounts import accounts
from store.clock import MovableClock
from store.repositories import repositories

HELLO = "/repos/octo/hello"
LABELS = f"{HELLO}/labels"
BUG = {"id": 11, "name": "Bug", "color": "d73a4a", "description": "Broken", "default": True}


async def done(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def names(client: httpx.AsyncClient, path: str = LABELS) -> list[str]:
    return [one["name"] for one in await done(await client.get(path))]


async def test_a_label_is_created(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    given = {"name": "Good first issue", "color": "7057FF", "description": "For newcomers"}
    answer = await client.post(LABELS, json=given)
    made = await done(answer, 201)
    assert made.items() >= (given | {"color": "7057ff", "default": False}).items()
    assert made["url"] == f"{BASE}{LABELS}/Good%20first%20issue"
    assert await done(await client.get(f"{LABELS}/good%20first%20ISSUE")) == made
    (payload,) = bodies(store, "label")
    assert (payload["action"], payload["label"]) == ("created", made)
    assert payload["repository"]["full_name"] == "octo/hello"
    assert payload["sender"]["login"] == "octo"
    plain = await done(await client.post(LABELS, json={"name": "plain"}), 201)
    assert (plain["color"], plain["description"]) == ("ededed", None)


async def test_issues_keep_a_label_that_gets_a_new_name(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    platform.report("label", "created", label=BUG)
    platform.report("issues", "opened", issue=issue(labels=[BUG]))
    given = {"new_name": "defect/serious", "color": "FF0000", "description": None}
    changed = await done(await client.patch(f"{LABELS}/BUG", json=given))
    assert (changed["name"], changed["color"]) == ("defect/serious", "ff0000")
    assert (changed["description"], changed["default"]) == (None, True)
    assert await names(client, f"{HELLO}/issues/1/labels") == ["defect/serious"]
    assert await done(await client.get(changed["url"])) == changed
    assert_error(await client.get(f"{LABELS}/bug"), 404)
    (payload,) = bodies(store, "label")
    assert (payload["action"], payload["label"]) == ("edited", changed)
    former = {"name": "Bug", "color": "d73a4a", "description": "Broken"}
    assert payload["changes"] == {name: {"from": text} for name, text in former.items()}


async def test_a_change_of_nothing_is_no_event(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    platform.report("label", "created", label=BUG)
    for body in ({}, {"new_name": "Bug", "color": "D73A4A"}):
        assert (await done(await client.patch(f"{LABELS}/bug", json=body)))["name"] == "Bug"
    assert bodies(store, "label") == []
    changed = await done(await client.patch(f"{LABELS}/bug", json={"new_name": "BUG"}))
    assert changed["name"] == "BUG"
    (payload,) = bodies(store, "label")
    assert payload["changes"] == {"name": {"from": "Bug"}}
    # Older clients send another member for the new name.
    older = await done(await client.patch(f"{LABELS}/bug", json={"name": "Flaw"}))
    assert older["name"] == "Flaw"
    both = await client.patch(f"{LABELS}/flaw", json={"name": "Flaw", "new_name": "Fault"})
    assert (await done(both))["name"] == "Fault"


async def test_a_deleted_label_is_removed_from_issues(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    platform.report("issues", "opened", issue=issue(labels=[BUG, {"name": "loud"}]))
    assert (await client.delete(f"{LABELS}/bug")).status_code == 204
    assert await names(client) == await names(client, f"{HELLO}/issues/1/labels") == ["loud"]
    (payload,) = bodies(store, "label")
    assert (payload["action"], payload["label"]["name"]) == ("deleted", "Bug")
    assert_error(await client.delete(f"{LABELS}/bug"), 404)
    assert len(bodies(store, "label")) == 1


async def test_an_earlier_event_undoes_no_change_of_a_label(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    """The platform's event is accepted first, and becomes state afterwards."""
    loud = {"id": 12, "name": "loud", "color": "111111"}
    for label in (BUG, loud):
        platform.report("label", "created", label=label)
    clock.advance(60)
    await done(await client.patch(f"{LABELS}/bug", json={"new_name": "defect"}))
    await done(await client.delete(f"{LABELS}/loud"), 204)
    clock.advance(-30)
    platform.report("issues", "opened", issue=issue(labels=[BUG, loud]))
    platform.report("label", "edited", label=BUG | {"color": "000000"})
    assert await names(client) == await names(client, f"{HELLO}/issues/1/labels") == ["defect"]
    assert (await done(await client.get(f"{LABELS}/defect")))["color"] == "d73a4a"
    # A later event of the platform wins.
    clock.advance(60)
    platform.report("issues", "edited", issue=issue(labels=[BUG, loud]))
    assert await names(client) == ["Bug", "loud"]


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"name": "x", "color": "#ff0000"}, "color", "invalid"),
        ({"name": "x", "color": "red"}, "color", "invalid"),
        ({"name": "x", "color": "ff00000"}, "color", "invalid"),
        ({"name": "x", "color": "ff000\n"}, "color", "invalid"),
        ({"name": "BUG", "color": "ff0000"}, "name", "already_exists"),
    ],
)
async def test_an_invalid_label_is_refused(
    client: httpx.AsyncClient,
    platform: Platform,
    store: Store,
    body: dict[str, Any],
    field: str,
    code: str,
) -> None:
    for label in (BUG, {"name": "loud"}):
        platform.report("label", "created", label=label)
    edit = {"new_name": body["name"], "color": body["color"]}
    for answer in (
        await client.post(LABELS, json=body),
        await client.patch(f"{LABELS}/loud", json=edit),
    ):
        content = assert_error(answer, 422, "Validation Failed", code=code)
        assert content["errors"][0]["field"] == field
        assert content["errors"][0]["resource"] == "Label"
    assert await names(client) == ["Bug", "loud"]
    assert bodies(store, "label") == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": " \t"},
        {"name": None},
        {"name": "x" * 256},
        {"name": "a\0b"},
        {"name": "x", "description": "x" * 101},
        {"name": "x", "color": 7},
    ],
)
async def test_a_malformed_label_is_refused(
    client: httpx.AsyncClient, seed: Any, body: dict[str, Any]
) -> None:
    assert_error(await client.post(LABELS, json=body), 422)
    assert await names(client) == []


async def test_labels_need_write_access(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers
) -> None:
    await done(await client.post(LABELS, json={"name": "bug"}), 201)
    helper = store.write_sync(accounts.create, "helper")
    store.write_sync(repositories.grant, seed.hello["id"], helper["id"], "triage")
    for headers in (reader, by(store, helper, scopes=["repo"])):
        for method, path, body in (
            ("POST", LABELS, {"name": "loud"}),
            ("PATCH", f"{LABELS}/bug", {"new_name": "loud"}),
            ("DELETE", f"{LABELS}/bug", None),
        ):
            answer = await client.request(method, path, json=body, headers=headers)
            assert_error(answer, 403)
    sql = "UPDATE repository SET archived = 1 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))
    answer = await client.post(LABELS, json={"name": "loud"})
    assert_error(answer, 403, "Repository was archived so is read-only.")
    assert await names(client) == ["bug"]


@pytest.mark.parametrize("deleted", [False, True])
async def test_an_earlier_event_means_no_label_that_got_the_name_since(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock, deleted: bool
) -> None:
    platform.report("label", "created", label=BUG)
    clock.advance(60)
    if deleted:
        await done(await client.delete(f"{LABELS}/bug"), 204)
    else:
        await done(await client.patch(f"{LABELS}/bug", json={"new_name": "defect"}))
    await done(await client.post(LABELS, json={"name": "bug"}), 201)
    clock.advance(-30)
    platform.report("issues", "opened", issue=issue(labels=[BUG]))
    assert await names(client, f"{HELLO}/issues/1/labels") == ([] if deleted else ["defect"])
    assert await names(client) == (["bug"] if deleted else ["bug", "defect"])


async def test_an_earlier_deletion_leaves_a_label_that_was_created_since(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    platform.report("label", "created", label=BUG)
    clock.advance(60)
    await done(await client.delete(f"{LABELS}/bug"), 204)
    await done(await client.post(LABELS, json={"name": "bug"}), 201)
    clock.advance(-30)
    platform.report("label", "deleted", label=BUG)
    assert await names(client) == ["bug"]
    clock.advance(60)
    platform.report("label", "deleted", label=BUG)
    assert await names(client) == []
