"""The hub's own events: each has a declared payload, and only hooks that name it get it."""

import json
from typing import get_args, get_type_hints

import httpx
import pytest
from hub_client import hold_event
from jsonschema_rs import ValidationError

from hub.operations import EVENTS, MODULES, OPERATIONS
from store import Connection, Row, Store
from store.delivery import delivery_queries, event_queries, events
from store.hooks import hooks
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS, WILDCARD

HAPPENED = {name for one in OPERATIONS for name in one.emits}


def test_each_is_declared_once() -> None:
    declared = [name for module in MODULES for name in module.ops.events]
    assert sorted(declared) == sorted(HUB_EVENTS)
    assert not HUB_EVENTS & PLATFORM_EVENTS


@pytest.mark.parametrize("event", sorted(HAPPENED))
def test_events_of_operations_have_known_names_and_actions(event: str) -> None:
    name, _, action = event.partition(".")
    assert name in PLATFORM_EVENTS | HUB_EVENTS
    if name in HUB_EVENTS:
        actions = get_args(get_type_hints(EVENTS[name])["action"])
        assert action in actions, f"{name} has the actions {actions}"


@pytest.mark.parametrize("name", sorted(HUB_EVENTS))
async def test_the_document_has_its_payload(client: httpx.AsyncClient, name: str) -> None:
    described = (await client.get("/openapi.json")).json()
    assert described["webhooks"].keys() == HUB_EVENTS
    post = described["webhooks"][name]["post"]
    assert post["summary"]
    assert f"/events/{name}`" in post["description"]
    forms = post["requestBody"]["content"]
    assert forms.keys() == {"application/json", "application/x-www-form-urlencoded"}


def test_an_emitted_payload_is_held_to_its_type() -> None:
    reported = {"action": "added", "email": {"primary": True, "verified": True, "visibility": None}}
    hold_event("email", {**reported, "sender": None})
    with pytest.raises(ValidationError):
        hold_event("email", {**reported, "action": "stolen", "sender": None})
    with pytest.raises(AssertionError, match="secret"):
        hold_event("email", {**reported, "secret": 1, "sender": None})


def _subscribe(db: Connection, repo_id: int, events: list[str]) -> Row:
    url = f"https://receiver.example/{'-'.join(events)}"
    return hooks.create(db, repo_id, url=url, events=events)


async def test_own_events_go_to_hooks_that_name_them(
    client: httpx.AsyncClient, store: Store, seed
) -> None:
    everything = store.write_sync(_subscribe, seed.hello["id"], [WILDCARD])
    by_name = store.write_sync(_subscribe, seed.hello["id"], ["repository_subscription"])
    answer = await client.put("/repos/octo/hello/subscription", json={"ignored": True})
    assert answer.status_code == 200
    (row,) = store.read_sync(event_queries.newest, limit=1)
    assert (row["name"], row["action"]) == ("repository_subscription", "updated")
    sent = store.read_sync(delivery_queries.page, limit=9)
    assert {each["hook_id"] for each in sent if each["event_id"] == row["id"]} == {by_name["id"]}
    assert everything["id"] != by_name["id"]
    kept = store.read_sync(events.get, row["id"])
    assert kept is not None
    hold_event("repository_subscription", json.loads(kept["body"]))
