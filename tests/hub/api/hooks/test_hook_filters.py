"""Filters of hooks through the API: saved, rejected, applied to events, and tested."""

import asyncio
import threading
from typing import Any

import httpx
import pytest
from assertions import assert_error
from waiting import PATIENCE, until

from store import Connection, Store
from store.database.store import READERS
from store.delivery import delivery_queries, filtering, outbox
from store.filters import cel_library
from store.filters.cel_library import MissingExtra

HOOKS = "/repos/octo/hello/hooks"
CONFIG = {"url": "https://receiver.example/in"}
TAGS = {"payload": {"ref": {"$startsWith": "refs/tags/"}}}


async def made(client: httpx.AsyncClient, **delivery: Any) -> dict[str, Any]:
    answer = await client.post(HOOKS, json={"config": CONFIG, "delivery": delivery})
    assert answer.status_code == 201, answer.text
    hook: dict[str, Any] = answer.json()
    return hook


async def test_a_filter_is_kept_changed_and_removed(client: httpx.AsyncClient) -> None:
    hook = await made(client, filter=TAGS, timeout=3)
    assert hook["delivery"] == {"filter": TAGS, "timeout": 3.0}
    other = {"event": "push"}
    answer = await client.patch(hook["url"], json={"delivery": {"filter": other}})
    assert answer.json()["delivery"] == {"filter": other, "timeout": 3.0}
    answer = await client.patch(hook["url"], json={"delivery": {"filter": None}})
    assert answer.json()["delivery"] == {"timeout": 3.0}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"payload": {"ref": {"$regex": "x"}}}, "payload.ref.$regex: unknown operator"),
        ({"ref": "x"}, "ref: a filter begins with event, action, payload"),
        ({}, "the condition is empty"),
        ({"cel": "payload.ref =="}, "cel: line 1, column 15: mismatched input"),
        ({"cel": "payload.c.exists(c, c in payload.d)"}, "cel: line 1, column 26: a macro sees"),
        ({"payload": {"ref": "x" * 9000}}, "8192 are allowed"),
    ],
)
async def test_a_bad_filter_is_rejected_with_its_place(
    client: httpx.AsyncClient, source: Any, message: str
) -> None:
    answer = await client.post(HOOKS, json={"config": CONFIG, "delivery": {"filter": source}})
    assert_error(answer, 422)
    assert "delivery/filter" in answer.json()["message"]
    assert message in answer.json()["message"]


async def test_no_write_waits_for_the_test_of_a_filter(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged, judge = [], filtering.test

    def slow(*given: Any) -> Any:
        # The writer is one thread, and the event loop another.
        judged.append(threading.current_thread().name)
        return judge(*given)

    monkeypatch.setattr(filtering, "test", slow)
    hook = await made(client, filter=TAGS)
    answer = await client.post(f"{hook['url']}/filter/tests", json={"payload": {}})
    assert answer.json()["matches"] is False
    assert [name.startswith("tocsin-reader") for name in judged] == [True]


def needs_thread(db: Connection) -> None:
    # With SQLite, other reads run on the event loop.
    db.require_thread()


async def test_tests_of_filters_leave_readers_to_others(
    client: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = [], threading.Event()

    def waits(*given: Any) -> Any:
        begun.append(given)
        assert go.wait(PATIENCE)
        return judge(*given)

    judge, hook = filtering.test, await made(client, filter=TAGS)
    monkeypatch.setattr(filtering, "test", waits)
    url = f"{hook['url']}/filter/tests"
    tests = [
        asyncio.create_task(client.post(url, json={"payload": {}})) for _ in range(READERS + 1)
    ]
    await until(lambda: begun, "the first test")
    await store.read(needs_thread)
    assert len(begun) < READERS
    go.set()
    assert {answer.status_code for answer in await asyncio.gather(*tests)} == {200}


async def test_a_filter_can_be_an_expression_in_cel(
    client: httpx.AsyncClient, store: Store
) -> None:
    source = {"cel": "payload.commits.exists(c, c.message.startsWith('fix'))"}
    hook = await made(client, filter=source)
    assert hook["delivery"] == {"filter": source}
    for payload in ({"commits": [{"message": "docs"}]}, {"commits": [{"message": "fix: x"}]}, {}):
        await client.post("/octo/hello/events/push", json=payload)
    rows = store.read_sync(delivery_queries.page, limit=10, hook_id=hook["id"], event="push")
    assert [(row["state"], row["reason"]) for row in rows] == [
        ("filtered", 'filter: the CEL expression has no result: Key not found in map: "commits"'),
        ("waiting", None),
        ("filtered", "filter: the CEL expression is false"),
    ]
    answer = await client.post(f"{hook['url']}/filter/tests", json={"payload": {}})
    assert answer.json() == {
        "matches": False,
        "matched": [],
        "failed": [
            {
                "path": "",
                "operator": "cel",
                "expected": source["cel"],
                "found": [],
                "error": 'Key not found in map: "commits"',
            }
        ],
    }


async def test_without_the_extra_a_hook_keeps_its_expression(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {"cel": "payload.kept == 1"}
    hook = await made(client, filter=source)

    def missing() -> Any:
        raise MissingExtra

    monkeypatch.setattr(cel_library, "environment", missing)
    monkeypatch.setattr(filtering.payload_filter, "load", lambda text: None)
    answer = await client.post(HOOKS, json={"config": CONFIG, "delivery": {"filter": source}})
    assert_error(answer, 422)
    assert "install tocsin[cel]" in answer.json()["message"]
    answer = await client.patch(hook["url"], json={"delivery": {"timeout": 3}})
    assert answer.json()["delivery"] == {"filter": source, "timeout": 3.0}
    answer = await client.post(f"{hook['url']}/filter/tests", json={"payload": {}})
    assert_error(answer, 422)
    assert "install tocsin[cel]" in answer.text
    answer = await client.post("/octo/hello/events/push", json={})
    assert answer.json()["deliveries"] == 1, "if a filter cannot run, the event is delivered"


async def test_a_filtered_event_makes_no_delivery(client: httpx.AsyncClient, store: Store) -> None:
    hook = await made(client, filter=TAGS)
    for ref, expected in (("refs/heads/main", 0), ("refs/tags/v1", 1)):
        answer = await client.post("/octo/hello/events/push", json={"ref": ref})
        assert answer.json()["deliveries"] == expected
    rows = store.read_sync(delivery_queries.page, limit=10, hook_id=hook["id"], event="push")
    assert [row["state"] for row in rows] == ["waiting", "filtered"]
    assert "refs/tags/" in rows[1]["reason"]


class TestDryRun:
    async def test_a_filter_is_tested_with_a_payload(self, client: httpx.AsyncClient) -> None:
        hook = await made(client, filter=TAGS)
        at = f"{hook['url']}/filter/tests"
        answer = await client.post(at, json={"payload": {"ref": "refs/heads/main"}})
        assert answer.json() == {
            "matches": False,
            "matched": [],
            "failed": [
                {
                    "path": "payload.ref",
                    "operator": "$startsWith",
                    "expected": "refs/tags/",
                    "found": ["refs/heads/main"],
                    "error": None,
                }
            ],
        }
        answer = await client.post(at, json={"payload": {"ref": "refs/tags/v1"}})
        assert answer.json()["matches"] is True

    async def test_a_dry_run_takes_another_filter_and_event(
        self, client: httpx.AsyncClient
    ) -> None:
        hook = await made(client)
        at = f"{hook['url']}/filter/tests"
        body = {"filter": {"event": "issues", "action": "opened"}, "payload": {}}
        answer = await client.post(at, json={**body, "event": "issues", "action": "opened"})
        assert answer.json()["matches"] is True
        answer = await client.post(at, json=body)
        assert [one["path"] for one in answer.json()["failed"]] == ["event", "action"]

    async def test_a_dry_run_takes_a_stored_event(self, client: httpx.AsyncClient) -> None:
        hook = await made(client, filter=TAGS)
        event = await client.post("/octo/hello/events/push", json={"ref": "refs/tags/v1"})
        at = f"{hook['url']}/filter/tests"
        answer = await client.post(at, json={"event_id": event.json()["event_id"]})
        assert answer.json()["matches"] is True

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({}, "either event_id or payload"),
            ({"event_id": 1, "payload": {}}, "either event_id or payload"),
            ({"event_id": 999}, "no event 999"),
            ({"filter": {"payload": {"a": {"$in": 1}}}, "payload": {}}, "payload.a.$in: a list"),
        ],
    )
    async def test_tests_of_filters_reject_invalid_bodies(
        self, client: httpx.AsyncClient, body: Any, message: str
    ) -> None:
        hook = await made(client, filter=TAGS)
        answer = await client.post(f"{hook['url']}/filter/tests", json=body)
        assert_error(answer, 422)
        assert message in answer.text

    async def test_a_dry_run_without_a_filter_is_refused(self, client: httpx.AsyncClient) -> None:
        hook = await made(client)
        answer = await client.post(f"{hook['url']}/filter/tests", json={"payload": {}})
        assert_error(answer, 422)
        assert "the hook has no filter" in answer.text

    async def test_an_event_of_another_repository_is_refused(
        self, client: httpx.AsyncClient, store: Store
    ) -> None:
        hook = await made(client, filter=TAGS)
        other_event = store.write_sync(outbox.emit, "push", None, 0, {"ref": "refs/tags/v1"})
        body = {"event_id": other_event.event_id}
        answer = await client.post(f"{hook['url']}/filter/tests", json=body)
        assert_error(answer, 422)
