"""Events of an organization, and of an unknown repository: the hooks that get them."""

from typing import Any

import httpx
import orjson
import pytest
from assertions import assert_error, signature, waiting

from store import Store
from store.accounts import accounts
from store.delivery import sources
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM, organization

EVENTS = "https://forge.example/events"
MEMBER = {"action": "added", "organization": {"login": "ACME"}}
UNKNOWN = {"repository": {"full_name": "acme/new"}}


@pytest.fixture
def acme(store: Store) -> dict[str, Any]:
    return store.write_sync(accounts.create, "acme", kind="Organization")


@pytest.fixture
def made(store: Store, seed: Any, acme: dict[str, Any]) -> list[int]:
    """The ids of hooks for all events: of acme, another organization, and the installation."""
    other = store.write_sync(accounts.create, "umbra", kind="Organization")
    targets = [organization(acme["id"]), organization(other["id"]), SYSTEM]
    url = "https://receiver.example/"
    return [store.write_sync(hooks.create, one, url=url, events=["*"])["id"] for one in targets]


async def post(client: httpx.AsyncClient, name: str, payload: Any, **given: str) -> httpx.Response:
    body = orjson.dumps(payload)
    headers = {
        "Authorization": "",
        "Content-Type": "application/json",
        "X-GitHub-Event": name,
        "X-Hub-Signature-256": signature("s3cret", body),
    }
    return await client.post(EVENTS, content=body, headers={**headers, **given})


def got(store: Store, hook_ids: list[int]) -> list[list[str]]:
    return [[row["name"] for row in waiting(store, hook_id)] for hook_id in hook_ids]


async def test_organization_events_reach_its_hooks(
    client: httpx.AsyncClient, store: Store, made: list[int]
) -> None:
    store.write_sync(sources.create, "forge", "s3cret")
    for name, payload in (
        ("membership", MEMBER),
        ("repository", UNKNOWN),
        ("ping", MEMBER),
        ("push", {"repository": {"full_name": "octo/unknown"}}),
        ("team", {"organization": {"login": "nobody\0"}}),
        ("team", {"organization": "acme"}),
    ):
        assert (await post(client, name, payload)).status_code == 202
    everything = ["membership", "repository", "ping", "push", "team", "team"]
    assert got(store, made) == [["membership", "repository"], [], everything]


async def test_organization_events_come_in_batches(
    client: httpx.AsyncClient, store: Store, made: list[int]
) -> None:
    store.write_sync(sources.create, "forge", "s3cret")
    lines = [
        {"event": "membership", "payload": MEMBER},
        {"event": "push", "repository": "acme/new", "payload": {}},
        {"event": "push", "repository": "octo/hello", "payload": MEMBER},
    ]
    body = b"\n".join(orjson.dumps(line) for line in lines)
    headers = {
        "Content-Type": "application/x-ndjson",
        "X-Hub-Signature-256": signature("s3cret", body),
    }
    del client.headers["Authorization"]
    answer = await client.post(EVENTS, content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    assert [one["deliveries"] for one in answer.json()["events"]] == [2, 2, 1]
    assert got(store, made)[0] == ["membership", "push"]


async def test_a_source_of_one_owner_sends_for_no_other(
    client: httpx.AsyncClient, store: Store, made: list[int], acme: dict[str, Any]
) -> None:
    store.write_sync(lambda db: sources.create(db, "forge", "s3cret", owner_id=acme["id"]))
    assert (await post(client, "membership", MEMBER)).status_code == 202
    for login in ("umbra", "nobody"):
        answer = await post(client, "membership", {"organization": {"login": login}})
        assert_error(answer, 403, f"Source forge may not send data for {login}")
    assert got(store, made)[:2] == [["membership"], []]
