"""The trace context of requests that bring events is stored with the events."""

import httpx
import orjson
import pytest
from assertions import signature
from incoming_events import kept

from store import Row, Store
from store.delivery import events, sources

TOPIC = "/octo/hello/events/push"
EVENTS = "https://forge.example/events"
PARENT, OTHER = (f"00-{digit * 32}-{digit * 16}-01" for digit in "12")
TRACE = {"traceparent": PARENT, "tracestate": "shop=1"}


def stored(store: Store, guid: str) -> Row:
    (event_id,) = [row["id"] for row in kept(store) if row["guid"] == guid]
    row = store.read_sync(lambda db: events.get(db, event_id))
    assert row is not None
    return row


def trace(row: Row) -> tuple[str | None, str | None]:
    return row["traceparent"], row["tracestate"]


async def test_an_event_with_a_token_keeps_its_trace(
    client: httpx.AsyncClient, store: Store
) -> None:
    answer = await client.post(TOPIC, json={}, headers=TRACE)
    assert trace(stored(store, answer.json()["id"])) == (PARENT, "shop=1")


async def test_a_signed_event_keeps_its_trace(client: httpx.AsyncClient, store: Store) -> None:
    store.write_sync(lambda db: sources.create(db, "forge", "s3cret"))
    del client.headers["Authorization"]
    body = orjson.dumps({"repository": {"full_name": "octo/hello"}})
    signed = {"X-Hub-Signature-256": signature("s3cret", body), "X-GitHub-Event": "push"}
    answer = await client.post(EVENTS, content=body, headers=TRACE | signed)
    assert answer.status_code == 202, answer.text
    assert trace(stored(store, answer.json()["id"])) == (PARENT, "shop=1")


async def test_a_line_of_a_batch_may_have_a_trace_of_its_own(
    client: httpx.AsyncClient, store: Store
) -> None:
    line = {"event": "push", "repository": "octo/hello", "payload": {}}
    lines = [
        line | {"id": "a"},
        line | {"id": "b", "traceparent": OTHER, "tracestate": "x=2"},
        line | {"id": "c", "traceparent": OTHER, "tracestate": 2},
        line | {"id": "d", "traceparent": "wrong", "tracestate": "x=2"},
        line | {"id": "e", "traceparent": 7},
    ]
    body = b"\n".join(map(orjson.dumps, lines))
    headers = TRACE | {"Content-Type": "application/x-ndjson"}
    answer = await client.post(EVENTS, content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    assert {guid: trace(stored(store, guid)) for guid in "abcde"} == {
        "a": (PARENT, "shop=1"),
        "b": (OTHER, "x=2"),
        "c": (OTHER, None),
        "d": (PARENT, "shop=1"),
        "e": (PARENT, "shop=1"),
    }


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("tracestate", "shop=1")],
        [("traceparent", "wrong"), ("tracestate", "shop=1")],
        [("traceparent", PARENT), ("traceparent", OTHER)],
    ],
)
async def test_an_invalid_trace_is_ignored(
    client: httpx.AsyncClient, store: Store, headers: list[tuple[str, str]]
) -> None:
    given = [*client.headers.multi_items(), *headers]
    answer = await client.post(TOPIC, content=b"{}", headers=given)
    assert answer.status_code == 202
    assert trace(stored(store, answer.json()["id"])) == (None, None)


async def test_states_in_several_lines_are_joined(client: httpx.AsyncClient, store: Store) -> None:
    headers = [*client.headers.multi_items(), ("traceparent", PARENT)]
    headers += [("tracestate", "a=1"), ("tracestate", "b=2")]
    answer = await client.post(TOPIC, content=b"{}", headers=headers)
    assert trace(stored(store, answer.json()["id"])) == (PARENT, "a=1,b=2")


async def test_a_repetition_keeps_the_first_trace(client: httpx.AsyncClient, store: Store) -> None:
    headers = TRACE | {"X-GitHub-Delivery": "d-1"}
    await client.post(TOPIC, json={}, headers=headers)
    again = await client.post(TOPIC, json={}, headers=headers | {"traceparent": OTHER})
    assert again.status_code == 202
    assert trace(stored(store, "d-1")) == (PARENT, "shop=1")
