"""Each change through the API is in the audit log, without the values in the request."""

from typing import Any

import httpx
import pytest
from assertions import BASE
from bearer import bearer
from hub_client import open_client
from transactions import transaction

from hub.operations import OPERATIONS
from hub.rest.auditing import changed, declared
from hub.rest.operation import Operation
from hub.settings import HubSettings
from store import Row, Store
from store.accounts import apps, grants, tokens
from store.audit import audit_search
from store.delivery import sources

HOOKS = "/repos/octo/hello/hooks"
CONFIG = {"url": "https://receiver.example/in?key=hidden", "secret": "s3cret"}


def entries(store: Store) -> list[Row]:
    return store.read_sync(audit_search.page, limit=100)[::-1]


def plain(row: Row) -> tuple[str, str, str, dict[str, Any]]:
    return row["action"], row["target"], row["outcome"], row["details"]


async def test_a_hooks_life(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    made = await client.post(HOOKS, json={"config": CONFIG, "events": ["push"]})
    hook = made.json()["id"]
    await client.get(f"{HOOKS}/{hook}")
    change = {"active": False, "delivery": {"timeout": 5}, "unheard_of": "of"}
    await client.patch(f"{HOOKS}/{hook}", json=change)
    await client.post(f"{HOOKS}/{hook}/pings")
    ended = await client.delete(f"{HOOKS}/{hook}")
    rows = entries(store)
    repository = {"repository": seed.hello["id"]}
    assert [plain(row) for row in rows] == [
        (
            "repos/create-webhook",
            HOOKS,
            "201",
            {"fields": ["config", "config.secret", "config.url", "events"], **repository}
            | {"id": hook},
        ),
        (
            "repos/update-webhook",
            f"{HOOKS}/{hook}",
            "200",
            {"fields": ["active", "delivery", "delivery.timeout"], **repository, "id": hook},
        ),
        ("repos/ping-webhook", f"{HOOKS}/{hook}/pings", "204", repository),
        ("repos/delete-webhook", f"{HOOKS}/{hook}", "204", repository),
    ]
    last = rows[-1]
    assert (last["actor"], last["via"]) == ("octo", "token")
    assert last["account_id"] == seed.octo["id"]
    row = store.read_sync(tokens.find, seed.token)
    assert row is not None
    assert last["token_id"] == row["id"]
    assert last["request_id"] == ended.headers["X-Service-Request-Id"]
    said = repr(rows)
    for secret in ("s3cret", "hidden", "receiver.example", "unheard", seed.token):
        assert secret not in said


async def test_refused_requests_are_not_audited(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    reader = bearer(seed.reader_token)
    for answer in (
        await client.post(HOOKS, json={"config": CONFIG}, headers=reader),
        await client.post(HOOKS, json={"config": {}}),
        await client.post(HOOKS, json={"config": {"url": "https://forbidden.example/"}}),
        await client.post(HOOKS, content=b"{"),
        await client.delete(f"{HOOKS}/99"),
    ):
        assert answer.status_code >= 400
    assert entries(store) == []


async def test_subscriptions(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    form = {
        "hub.topic": f"{BASE}/octo/hello/events/push",
        "hub.callback": "https://receiver.example/in?key=hidden",
    }
    subscribed = {**form, "hub.mode": "subscribe", "hub.secret": "s3cret"}
    unsubscribed = {**form, "hub.mode": "unsubscribe"}
    for fields in (subscribed, subscribed, unsubscribed, unsubscribed):
        answer = await client.post("/hub", data=fields)
        assert answer.status_code == 204
    rows = entries(store)
    with_secret = {"fields": ["hub.secret"], "repository": seed.hello["id"], "id": 1}
    assert [plain(row) for row in rows] == [
        ("hub/subscribe", "/octo/hello/events/push", "204", with_secret),
        ("hub/subscribe", "/octo/hello/events/push", "204", with_secret),
        ("hub/unsubscribe", "/octo/hello/events/push", "204", {"repository": 1, "id": 1}),
        ("hub/unsubscribe", "/octo/hello/events/push", "204", {"repository": 1}),
    ]
    assert "hidden" not in repr(rows)
    assert rows[0]["actor"] == "octo"


async def test_events_are_not_in_it(client: httpx.AsyncClient, store: Store) -> None:
    store.write_sync(sources.create, "forge", "hush")
    answer = await client.post(
        f"{BASE.removesuffix('/api/v3')}/octo/hello/events/push", json={"ref": "main"}
    )
    assert answer.status_code == 202
    assert entries(store) == []


async def test_an_app_is_audited_as_the_actor(
    store: Store, seed: Any, settings: HubSettings
) -> None:
    with transaction(store) as db:
        _, app = apps.create(
            db, seed.reader["id"], "lab", url="https://lab.example/",
            client_id="lab-client", client_secret="s" * 40,
        )  # fmt: skip
        value = grants.issue(db, app, seed.octo["id"], scopes=["repo"])[0]
    async with open_client(store, settings, auth=("lab-client", "s" * 40)) as client:
        checked = await client.post("/applications/lab-client/token", json={"access_token": value})
        assert checked.status_code == 200
        assert entries(store) == [], "the check of a token changes nothing"
        reset = await client.patch("/applications/lab-client/token", json={"access_token": value})
        assert reset.status_code == 200
        (row,) = entries(store)
    assert (row["actor"], row["via"], row["action"]) == ("lab-client", "app", "apps/reset-token")
    assert row["details"]["fields"] == ["access_token"]
    assert value not in repr(row)
    assert reset.json()["token"] not in repr(row)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        ([], "2001:db8::7", "127.0.0.1"),
        (["127.0.0.0/8"], "2001:db8::7", "2001:db8::7"),
        (["127.0.0.0/8"], "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (["127.0.0.0/8"], "who knows", "127.0.0.1"),
    ],
)
async def test_the_audited_address_comes_from_trusted_proxies(
    store: Store,
    seed: Any,
    settings: HubSettings,
    proxies: list[str],
    forwarded: str,
    expected: str,
) -> None:
    """The log has the whole address. It comes from a header only if a trusted proxy sent it."""
    settings.trusted_proxies = proxies
    headers = {"Authorization": f"Bearer {seed.token}", "X-Forwarded-For": forwarded}
    async with open_client(store, settings, headers=headers) as client:
        answer = await client.put("/repos/octo/hello/subscription", json={"subscribed": True})
        assert answer.status_code == 200
        (row,) = entries(store)
    assert row["address"] == expected


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
def test_writing_operations_are_audited_unless_declared_otherwise(operation: Operation) -> None:
    if operation.method == "GET":
        assert not operation.audited
    elif not operation.audited:
        name = operation.id.partition("/")[2]
        assert operation.id in LOOKING or name in DELIVERING, f"{operation.id} is not audited"


# Operations that use POST, but change nothing.
LOOKING = {"apps/check-token", "repos/test-webhook-filter", "orgs/test-webhook-filter"}
# Operations that change only deliveries, whose attempts the store records anyway.
DELIVERING = {
    "dequeue-webhook-deliveries",
    "acknowledge-webhook-deliveries",
    "reject-webhook-deliveries",
    "extend-webhook-leases",
}


def test_names_are_those_that_are_declared() -> None:
    schema = {
        "$defs": {"C": {"properties": {"url": {}, "deep": {"properties": {"er": {}}}}}},
        "properties": {
            "config": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]},
            "labels": {"type": "object", "additionalProperties": True},
        },
    }
    names = declared(schema)
    assert names == {"config", "config.url", "config.deep", "labels"}
    body = {"config": {"url": 1, "deep": {"er": 1}}, "labels": {"s3cret": 1}, "s3cret": 2}
    assert changed(body, names) == ("config", "config.deep", "config.url", "labels")
    assert changed(["s3cret"], names) == ()
    assert changed(None, names) == ()
