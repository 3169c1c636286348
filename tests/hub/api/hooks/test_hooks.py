"""The operations on hooks of a repository, and the limit of hooks for an event."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, attempted, bodies, by_id, links, waiting

from store import Store
from store.audit import audit_search
from store.clock import DAY, MovableClock, iso
from store.hook_state import hook_pauses
from store.hooks import hook_secrets, hooks
from store.repositories import repositories

HOOKS = "/repos/octo/hello/hooks"
CONFIG = {"url": "https://receiver.example/in", "content_type": "json", "secret": "s3cret"}


async def made(client: httpx.AsyncClient, **members: Any) -> dict[str, Any]:
    answer = await client.post(HOOKS, json={"config": CONFIG, **members})
    assert answer.status_code == 201, answer.text
    hook: dict[str, Any] = answer.json()
    return hook


def secret(store: Store, hook: dict[str, Any]) -> str | None:
    return store.read_sync(lambda db: hooks.secret_of(db, hooks.by_id(db, hook["id"]) or {}))


async def test_a_new_hook_is_shown_and_pinged(client: httpx.AsyncClient, store: Store) -> None:
    answer = await client.post(HOOKS, json={"name": "web", "config": CONFIG})
    assert answer.status_code == 201
    hook = answer.json()
    assert answer.headers["Location"] == hook["url"] == f"{BASE}{HOOKS}/{hook['id']}"
    assert hook == {
        "type": "Repository",
        "id": hook["id"],
        "name": "web",
        "active": True,
        "events": ["push"],
        "config": {
            "url": "https://receiver.example/in",
            "content_type": "json",
            "insecure_ssl": "0",
            "secret": "********",
        },
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
        "url": hook["url"],
        "test_url": f"{hook['url']}/tests",
        "ping_url": f"{hook['url']}/pings",
        "deliveries_url": f"{hook['url']}/deliveries",
        "last_response": {"code": None, "status": "unused", "message": None},
        "disabled_reason": None,
        "paused_at": None,
        "pause_reason": None,
        "certificate_ends_at": None,
        "handshake": None,
        "handshake_rate": None,
        "delivery": {},
    }
    assert secret(store, hook) == "s3cret"
    (ping,) = bodies(store, "ping")
    assert ping["hook_id"] == hook["id"]
    assert ping["hook"] == hook
    assert ping["repository"]["full_name"] == "octo/hello"
    assert ping["sender"]["login"] == "octo"
    assert isinstance(ping["zen"], str)
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping"]
    assert (await client.get(f"{HOOKS}/{hook['id']}")).json() == hook


async def test_only_the_new_hook_is_pinged(client: httpx.AsyncClient, store: Store) -> None:
    first = await made(client, events=["*"])
    await made(client, config={**CONFIG, "url": "https://other.example/"}, events=["*"])
    assert len(waiting(store, first["id"])) == 1


@pytest.mark.parametrize("ssl", ["1", 1])
async def test_a_hook_is_created_with_all_its_options(
    client: httpx.AsyncClient, ssl: object
) -> None:
    config = {"url": "http://receiver.example/", "insecure_ssl": ssl}
    delivery = {"retries": [0, 1.5], "timeout": 3}
    hook = await made(
        client, config=config, events=["push", "issues"], active=False, delivery=delivery
    )
    assert hook["config"] == {
        "url": "http://receiver.example/",
        "content_type": "form",
        "insecure_ssl": "1",
    }
    assert (hook["events"], hook["active"]) == (["push", "issues"], False)
    assert hook["delivery"] == delivery


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"config": []}, "For 'config'"),
        ({"config": {"url": 5}}, "For 'config/url'"),
        ({"config": CONFIG, "events": "push"}, "For 'events'"),
        ({"config": CONFIG, "active": "yes"}, "For 'active'"),
        ({"config": CONFIG, "name": "irc"}, "For 'name'"),
        ({"config": {**CONFIG, "content_type": "xml"}}, "For 'config/content_type'"),
        ({"config": {**CONFIG, "insecure_ssl": 2}}, "For 'config/insecure_ssl"),
        ({"config": CONFIG, "wrong": 1}, '"wrong" is not a permitted key.'),
        ({"config": CONFIG, "delivery": {"timeout": 0}}, "For 'delivery/timeout'"),
        ({"config": CONFIG, "delivery": {"speed": 1}}, '"delivery/speed" is not a permitted key.'),
        ({"config": {**CONFIG, "url": "https://e.example/" + "x" * 2048}}, "For 'config/url'"),
        ({"config": {**CONFIG, "secret": "x" * 1025}}, "For 'config/secret"),
    ],
)
async def test_a_body_of_the_wrong_form_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], message: str
) -> None:
    content = assert_error(await client.post(HOOKS, json=body), 422)
    assert content["message"].startswith("Invalid request.\n\n" + message)
    assert "errors" not in content


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "url", "missing_field"),
        ({"config": {"content_type": "json"}}, "url", "missing_field"),
        ({"config": {**CONFIG, "secret": "********"}}, "secret", "invalid"),
        ({"config": CONFIG, "events": []}, "events", "invalid"),
        ({"config": CONFIG, "events": ["nothing"]}, "events", "invalid"),
        ({"config": {"url": "http://forbidden.example/"}}, "url", "custom"),
        ({"config": {"url": "ftp://receiver.example/"}}, "url", "custom"),
    ],
)
async def test_a_wrong_hook_is_refused(
    client: httpx.AsyncClient, store: Store, body: dict[str, Any], field: str, code: str
) -> None:
    content = assert_error(await client.post(HOOKS, json=body), 422, "Validation Failed", code=code)
    (detail,) = content["errors"]
    assert (detail["resource"], detail["field"]) == ("Hook", field)
    assert ("message" in detail) == (code != "missing_field")
    assert bodies(store, "ping") == []


async def test_members_of_a_configuration_that_are_not_known_are_ignored(
    client: httpx.AsyncClient,
) -> None:
    config = {**CONFIG, "room": "tower", "digest": "sha256"}
    made = await client.post(HOOKS, json={"config": config})
    assert made.status_code == 201
    path = f"{HOOKS}/{made.json()['id']}"
    changed = await client.patch(path, json={"config": config})
    assert changed.status_code == 200
    assert "room" not in made.json()["config"] | changed.json()["config"]
    assert_error(await client.patch(f"{path}/config", json=config), 422)


async def test_a_refused_callback_is_reported_with_the_reason(client: httpx.AsyncClient) -> None:
    body = {"config": {"url": "http://forbidden.example/"}}
    content = assert_error(await client.post(HOOKS, json=body), 422)
    reason = "http://forbidden.example/ is refused: the test says so"
    assert content["errors"][0]["message"] == reason


async def test_a_twin_is_refused_and_disjoint_events_are_not(client: httpx.AsyncClient) -> None:
    await made(client, events=["push", "issues"])
    twin = await client.post(HOOKS, json={"config": CONFIG, "events": ["issues", "fork"]})
    content = assert_error(twin, 422, "Validation Failed", code="custom")
    assert content["errors"][0]["message"] == "Hook already exists on this repository"
    await made(client, events=["fork"])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "Problems parsing JSON"),
        (b"\xff", "Problems parsing JSON"),
        (b'{"active": NaN}', "Problems parsing JSON"),
        (b"[]", "Body should be a JSON object"),
        (b'"text"', "Body should be a JSON object"),
        (b"null", "Body should be a JSON object"),
        (b" null\n", "Body should be a JSON object"),
        (b"[" * 5000, "Problems parsing JSON"),
    ],
)
async def test_a_body_that_is_no_json_object_is_rejected(
    client: httpx.AsyncClient, raw: bytes, message: str
) -> None:
    assert_error(await client.post(HOOKS, content=raw), 400, message)


async def test_a_body_beyond_the_bound_is_refused(client: httpx.AsyncClient) -> None:
    assert_error(await client.post(HOOKS, content=b" " * (16 * 1024 + 1)), 413)


async def test_lists_come_in_pages(client: httpx.AsyncClient) -> None:
    ids = []
    for number in range(5):
        config = {"url": f"https://receiver.example/{number}"}
        ids.append((await made(client, config=config))["id"])
    whole = await client.get(HOOKS)
    assert [hook["id"] for hook in whole.json()] == ids
    assert "Link" not in whole.headers
    first = await client.get(HOOKS, params={"per_page": 2, "flavour": "a b"})
    assert [hook["id"] for hook in first.json()] == ids[:2]
    root = f"{by_id(HOOKS)}?per_page=2&flavour=a+b&page="
    assert links(first) == {"next": f"{root}2", "last": f"{root}3"}
    second = await client.get(links(first)["next"])
    assert [hook["id"] for hook in second.json()] == ids[2:4]
    assert links(second) == {
        "prev": f"{root}1", "next": f"{root}3", "last": f"{root}3", "first": f"{root}1"
    }  # fmt: skip
    third = await client.get(links(second)["last"])
    assert [hook["id"] for hook in third.json()] == ids[4:]
    assert links(third) == {"prev": f"{root}2", "first": f"{root}1"}
    beyond = await client.get(HOOKS, params={"per_page": 2, "page": 9})
    assert beyond.json() == []
    assert links(beyond)["prev"].endswith("page=3")


@pytest.mark.parametrize(
    ("given", "size"),
    [("0", 30), ("-1", 30), ("x", 30), ("", 30), ("1e9", 30), ("٣", 30), ("007", 7), ("500", 31)],
)
async def test_page_sizes_that_are_none(
    client: httpx.AsyncClient, store: Store, seed: Any, given: str, size: int
) -> None:
    for number in range(31):
        store.write_sync(
            hooks.create, seed.hello["id"], url=f"https://e.example/{number}", events=["*"]
        )
    assert len((await client.get(HOOKS, params={"per_page": given})).json()) == size
    assert len((await client.get(HOOKS, params={"page": given})).json()) in (0, 30)


@pytest.mark.parametrize("digits", [9, 10, 19, 5000])
async def test_numbers_without_measure(
    client: httpx.AsyncClient, store: Store, seed: Any, digits: int
) -> None:
    for number in range(101):
        store.write_sync(
            hooks.create, seed.hello["id"], url=f"https://e.example/{number}", events=["*"]
        )
    huge = "9" * digits
    whole = await client.get(HOOKS, params={"per_page": huge})
    assert len(whole.json()) == 100
    assert links(whole)["next"].endswith("page=2")
    beyond = await client.get(HOOKS, params={"page": huge, "per_page": huge})
    assert (beyond.status_code, beyond.json()) == (200, [])
    assert links(beyond)["prev"].startswith(f"{by_id(HOOKS)}?page=2&")
    assert_error(await client.get(f"{HOOKS}/{huge}"), 404)


async def test_an_edit_changes_the_named_fields_only(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client, delivery={"timeout": 3, "rate": 5})
    path = f"{HOOKS}/{hook['id']}"
    answer = await client.patch(
        path, json={"add_events": ["issues", "push"], "delivery": {"rate": None, "breaker": 0}}
    )
    assert answer.status_code == 200
    edited = answer.json()
    assert edited["events"] == ["push", "issues"]
    assert edited["delivery"] == {"timeout": 3, "breaker": 0}
    assert edited["config"] == hook["config"]
    body = {"remove_events": ["push"], "active": False}
    edited = (await client.patch(path, json=body)).json()
    assert (edited["events"], edited["active"]) == (["issues"], False)
    edited = (await client.patch(path, json={"events": ["*"], "active": True})).json()
    assert (edited["events"], edited["active"]) == (["*"], True)
    assert secret(store, hook) == "s3cret"


async def test_the_audit_log_names_the_person_that_switched_a_hook_off(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client)
    other = await made(client, config={"url": "https://receiver.example/other"})
    for one in (hook, other):
        await client.patch(f"/repos/octo/hello/hooks/{one['id']}", json={"active": False})
    await client.patch(f"/repos/octo/hello/hooks/{hook['id']}", json={"events": ["issues"]})
    for one in (hook, other):
        row = store.read_sync(hooks.by_id, one["id"])
        assert row is not None
        found = store.read_sync(audit_search.switched_off_by, row)
        assert found == {"actor": "octo", "via": "token"}
        # The clock was set back, or the entry was pruned.
        unknown = row | {"off_since": row["off_since"] + 1}
        assert store.read_sync(audit_search.switched_off_by, unknown) is None


async def test_an_edited_config_replaces_the_old_one(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client)
    path = f"{HOOKS}/{hook['id']}"
    kept = {"content_type": "json", "secret": "********", "url": "https://new.example/"}
    edited = (await client.patch(path, json={"config": kept})).json()
    assert edited["config"]["url"] == "https://new.example/"
    assert secret(store, hook) == "s3cret"
    edited = (await client.patch(path, json={"config": {"secret": "other"}})).json()
    assert edited["config"]["content_type"] == "form"
    assert secret(store, hook) == "other"
    edited = (await client.patch(path, json={"config": {"content_type": "json"}})).json()
    assert edited["config"] == {
        "content_type": "json", "insecure_ssl": "0", "url": "https://new.example/"
    }  # fmt: skip
    assert secret(store, hook) is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"events": []}, "invalid"),
        ({"remove_events": ["push"]}, "invalid"),
        ({"add_events": ["nothing"]}, "invalid"),
        ({"config": {"url": "http://forbidden.example/"}}, "custom"),
    ],
)
async def test_a_wrong_edit_is_refused(
    client: httpx.AsyncClient, body: dict[str, Any], code: str
) -> None:
    hook = await made(client)
    answer = await client.patch(f"{HOOKS}/{hook['id']}", json=body)
    assert_error(answer, 422, "Validation Failed", code=code)
    assert (await client.get(f"{HOOKS}/{hook['id']}")).json() == hook


async def test_the_config_can_be_read_and_changed_by_itself(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client)
    path = f"{HOOKS}/{hook['id']}/config"
    assert (await client.get(path)).json() == hook["config"]
    answer = await client.patch(path, json={"content_type": "form", "insecure_ssl": "1"})
    assert answer.status_code == 200
    assert answer.json() == {**hook["config"], "content_type": "form", "insecure_ssl": "1"}
    assert secret(store, hook) == "s3cret"
    await client.patch(path, json={"secret": "********"})
    assert secret(store, hook) == "s3cret"
    await client.patch(path, json={"secret": "new"})
    assert secret(store, hook) == "new"
    assert "secret" not in (await client.patch(path, json={"secret": ""})).json()
    assert secret(store, hook) is None
    assert_error(await client.patch(path, json={"url": "http://forbidden.example/"}), 422)
    assert_error(await client.patch(path, json={"wrong": 1}), 422)


async def test_a_disabled_hook_shows_the_reason_until_it_is_active_again(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client)
    store.write_sync(hooks.disable, hook["id"], "the receiver said 410")
    path = f"{HOOKS}/{hook['id']}"
    shown = (await client.get(path)).json()
    assert (shown["active"], shown["disabled_reason"]) == (False, "the receiver said 410")
    shown = (await client.patch(path, json={"active": True})).json()
    assert (shown["active"], shown["disabled_reason"]) == (True, None)


async def test_a_pause_is_shown(client: httpx.AsyncClient, store: Store) -> None:
    hook = await made(client)
    path = f"{HOOKS}/{hook['id']}"
    row = store.write_sync(lambda db: hook_pauses.pause(db, hooks.by_id(db, hook["id"])))
    assert (await client.get(path)).json()["paused_at"] == iso(row["paused_at"])
    store.write_sync(hook_pauses.resume, row)
    assert (await client.get(path)).json()["paused_at"] is None


async def test_a_hook_shows_the_last_response_to_its_pings(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client)
    path = f"{HOOKS}/{hook['id']}"
    answer = await client.post(f"{path}/pings")
    assert (answer.status_code, answer.content) == (204, b"")
    assert len(waiting(store, hook["id"])) == 2
    attempted(store, hook["id"])
    reported = {"code": 200, "status": "active", "message": "OK"}
    assert (await client.get(path)).json()["last_response"] == reported
    await client.post(f"{path}/pings")
    attempted(store, hook["id"], status=500)
    reported = {"code": 500, "status": "failed", "message": "Invalid HTTP Response: 500"}
    assert (await client.get(HOOKS)).json()[0]["last_response"] == reported
    await client.post(f"{path}/pings")
    attempted(store, hook["id"], status=None, error="connect: refused")
    reported = {"code": None, "status": "failed", "message": "connect: refused"}
    assert (await client.get(path)).json()["last_response"] == reported


async def test_the_latest_push_is_sent_again(client: httpx.AsyncClient, store: Store) -> None:
    hook = await made(client, events=["push"])
    other = await made(client, events=["issues"])
    tests = f"{HOOKS}/{hook['id']}/tests"
    assert (await client.post(tests)).status_code == 204
    assert len(waiting(store, hook["id"])) == 1
    await client.post("/octo/hello/events/push", json={"after": "1"})
    latest = (await client.post("/octo/hello/events/push", json={"after": "2"})).json()
    assert (await client.post(tests)).status_code == 204
    again = waiting(store, hook["id"])[-1]
    assert (again["guid"], again["redelivery"]) == (latest["id"], 1)
    assert (await client.post(f"{HOOKS}/{other['id']}/tests")).status_code == 204
    assert len(waiting(store, other["id"])) == 1


@pytest.mark.parametrize(("events", "reported"), [(["meta"], 1), (["*"], 1), (["push"], 0)])
async def test_a_deleted_hook_is_gone_and_receives_a_meta_event(
    client: httpx.AsyncClient, store: Store, events: list[str], reported: int
) -> None:
    hook = await made(client, events=events)
    other = await made(client, config={"url": "https://other.example/"}, events=["meta"])
    answer = await client.delete(f"{HOOKS}/{hook['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert_error(await client.get(f"{HOOKS}/{hook['id']}"), 404, "Not Found")
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping"] + ["meta"] * reported
    assert [row["name"] for row in waiting(store, other["id"])] == ["ping"]
    for payload in bodies(store, "meta"):
        assert payload["action"] == "deleted"
        assert payload["hook"]["id"] == payload["hook_id"] == hook["id"]
    assert [shown["id"] for shown in (await client.get(HOOKS)).json()] == [other["id"]]


async def test_a_new_secret_can_overlap_the_former_one(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    hook = await made(client)
    config = f"{HOOKS}/{hook['id']}/config"

    def former() -> Any:
        row = store.read_sync(hooks.by_id, hook["id"])
        assert row is not None
        return store.read_sync(hook_secrets.previous_secret, row)

    answer = await client.patch(config, json={"secret": "new", "secret_overlap": 86_400})
    assert answer.status_code == 200
    assert answer.json() == {**hook["config"], "secret": "********"}
    assert secret(store, hook) == "new"
    assert former() == ("s3cret", clock.now() + DAY)
    assert (await client.patch(config, json={"secret_overlap": 0})).status_code == 200
    assert former() is None
    await client.patch(config, json={"secret": "newer", "secret_overlap": 60})
    assert former()[0] == "new"
    await client.patch(config, json={"secret": "newest"})
    assert former() is None, "without an overlap, only the new secret signs"


@pytest.mark.parametrize(
    "body",
    [
        {"secret_overlap": 60},
        {"secret": "********", "secret_overlap": 60},
        {"secret": "new", "secret_overlap": -1},
        {"secret": "new", "secret_overlap": 604_801},
        {"secret": "new", "secret_overlap": "1d"},
    ],
)
async def test_a_wrong_overlap_is_refused(
    client: httpx.AsyncClient, store: Store, body: dict[str, Any]
) -> None:
    hook = await made(client)
    answer = await client.patch(f"{HOOKS}/{hook['id']}/config", json=body)
    assert_error(answer, 422)
    assert secret(store, hook) == "s3cret"


# The limit of hooks for an event.

FULL = 'The "push" event cannot have more than 20 hooks'


async def twenty(client: httpx.AsyncClient, **members: Any) -> list[dict[str, Any]]:
    """Create 20 hooks, which is the limit for an event in a repository."""
    return [
        await made(client, config={"url": f"https://receiver.example/{number}"}, **members)
        for number in range(20)
    ]


async def one_more(client: httpx.AsyncClient, **members: Any) -> httpx.Response:
    return await client.post(
        HOOKS, json={"config": {"url": "https://receiver.example/more"}, **members}
    )


def assert_full(answer: httpx.Response, message: str = FULL) -> None:
    content = assert_error(answer, 422, "Validation Failed")
    assert content["errors"] == [
        {"resource": "Hook", "field": "events", "code": "custom", "message": message}
    ]


@pytest.mark.parametrize("active", [True, False])
async def test_an_event_has_20_hooks_at_most(client: httpx.AsyncClient, active: bool) -> None:
    hooks = await twenty(client, active=active)
    assert_full(await one_more(client))
    assert_full(await one_more(client, events=["issues", "push"]))
    assert_full(await one_more(client, events=["*"]))
    other = await one_more(client, events=["issues"])
    assert other.status_code == 201
    path = f"{HOOKS}/{other.json()['id']}"
    for change in ({"add_events": ["push"]}, {"events": ["*"]}, {"events": ["push"]}):
        assert_full(await client.patch(path, json=change))
    # A hook that counts for the full event can still be changed.
    path = f"{HOOKS}/{hooks[0]['id']}"
    changed = await client.patch(path, json={"active": True, "add_events": ["issues"]})
    assert changed.status_code == 200
    assert (await client.delete(path)).status_code == 204
    assert (await one_more(client)).status_code == 201


async def test_a_hook_for_all_events_counts_for_each(client: httpx.AsyncClient) -> None:
    hooks = await twenty(client, events=["*"])
    assert_full(await one_more(client))
    assert_full(await one_more(client, events=["*"]), FULL.replace("push", "*"))
    # The wildcard does not include `interaction_limit`, so these hooks do not count for it.
    assert (await one_more(client, events=["interaction_limit"])).status_code == 201
    changed = await client.patch(f"{HOOKS}/{hooks[0]['id']}", json={"events": ["push"]})
    assert changed.status_code == 200, "the number of hooks for `push` stays the same"


async def test_another_repository_has_its_own_20(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await twenty(client)
    store.write_sync(repositories.create, seed.octo["id"], "other")
    answer = await client.post("/repos/octo/other/hooks", json={"config": CONFIG})
    assert answer.status_code == 201


async def test_more_than_there_may_be_can_still_be_changed(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    """A repository exceeds the limit if the limit was introduced or lowered after its hooks."""
    made_before = [
        store.write_sync(
            hooks.create, seed.hello["id"], url=f"https://a.example/{n}", events=["push"]
        )
        for n in range(25)
    ]
    path = f"{HOOKS}/{made_before[3]['id']}"
    assert (await client.patch(path, json={"active": False})).status_code == 200
    assert (await client.patch(path, json={"active": True})).status_code == 200
    assert (await client.patch(path, json={"add_events": ["issues"]})).status_code == 200
    assert_full(await one_more(client))


async def test_static_headers_are_write_only(client: httpx.AsyncClient) -> None:
    headers = {"X-Api-Key": "hunter2-hunter2", "X-Env": "live"}
    body = {"config": {"url": "https://receiver.example/in"}, "delivery": {"headers": headers}}
    answer = await client.post(HOOKS, json=body)
    assert answer.status_code == 201, answer.text
    shown = {"X-Api-Key": "********", "X-Env": "live"}
    assert answer.json()["delivery"] == {"headers": shown}
    url = answer.json()["url"]
    for headers in (shown | {"X-More": "1"}, None):
        answer = await client.patch(url, json={"delivery": {"headers": headers}})
        assert answer.json()["delivery"] == ({} if headers is None else {"headers": headers})
    again = await client.patch(url, json={"delivery": {"headers": shown}})
    assert_error(again, 422)


@pytest.mark.parametrize("name", ["Host", "webhook-id", "a b"])
async def test_denied_headers_are_rejected(client: httpx.AsyncClient, name: str) -> None:
    delivery = {"headers": {name: "hunter2"}}
    body = {"config": {"url": "https://receiver.example/in"}, "delivery": delivery}
    answer = await client.post(HOOKS, json=body)
    assert_error(answer, 422)
    assert "hunter2" not in answer.text


async def test_client_credentials_are_write_only(client: httpx.AsyncClient) -> None:
    oauth2 = {"token_url": "https://t.example/", "client_id": "a", "client_secret": "hunter2"}
    body = {"config": {"url": "https://receiver.example/in"}, "delivery": {"oauth2": oauth2}}
    answer = await client.post(HOOKS, json=body)
    assert answer.json()["delivery"]["oauth2"] == oauth2 | {"client_secret": "********"}
    listed = await client.get(HOOKS)
    assert "hunter2" not in answer.text + listed.text
    oauth2["token_url"] = "https://forbidden.example/"
    answer = await client.post(HOOKS, json=body)
    assert_error(answer, 422)
    assert answer.json()["errors"][0]["field"] == "oauth2"
    assert answer.json()["errors"][0]["message"].startswith("token_url: https://forbidden")
