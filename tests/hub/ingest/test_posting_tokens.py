"""An event keeps the token that posted it, and people who may see the event see whose it is."""

from typing import Any

import httpx
import orjson
import pytest
from assertions import signature
from dashboard_client import open_dashboard, text_of
from incoming_events import kept
from ui_rows import operator

from store import Connection, Store
from store.accounts import tokens
from store.delivery import events, sources
from store.delivery.incoming import IncomingEvent
from store.delivery.websub.websub_topics import CONTENT_EVENT

TOPIC = "/octo/hello/events/push"
EVENTS = "https://forge.example/events"
LINE = orjson.dumps({"event": "push", "repository": "octo/hello", "payload": {}})


def token_of(store: Store) -> int | None:
    """The token of the newest event."""
    (newest,) = kept(store)[:1]
    row = store.read_sync(lambda db: events.get(db, newest["id"]))
    assert row is not None
    return row["token_id"]


def number_of(db: Connection, value: str) -> int:
    found = tokens.find(db, value)
    assert found is not None
    return found["id"]


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [(TOPIC, b"{}", "application/json"), (EVENTS, LINE, "application/x-ndjson")],
)
async def test_an_event_names_the_token_that_posted_it(
    client: httpx.AsyncClient, store: Store, seed: Any, path: str, content: bytes, kind: str
) -> None:
    answer = await client.post(path, content=content, headers={"Content-Type": kind})
    assert answer.status_code == 202, answer.text
    number = store.read_sync(number_of, seed.token)
    assert token_of(store) == number
    async with open_dashboard(store, seed.token, last=False) as browser:
        said = text_of(await browser.page("/ui/events/1"))
        assert f"posted by octo with the token {number}" in said
        assert seed.token not in said
        other = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], scopes=["repo"]))[0]
        store.write_sync(lambda db: tokens.revoke(db, number))
        browser.client.cookies.clear()
        await browser.sign_in(other)
        said = text_of(await browser.page("/ui/events/1"))
        assert f"with the token {number}, which was deleted since" in said


async def test_a_signed_event_has_no_token(client: httpx.AsyncClient, store: Store) -> None:
    store.write_sync(lambda db: sources.create(db, "forge", "s3cret"))
    body = orjson.dumps({"repository": {"full_name": "octo/hello"}})
    signed = {"X-Hub-Signature-256": signature("s3cret", body), "X-GitHub-Event": "push"}
    # A forge may add this header, which plays no part.
    assert "Authorization" in client.headers
    answer = await client.post(EVENTS, content=body, headers=signed)
    assert answer.status_code == 202, answer.text
    assert token_of(store) is None


async def test_the_content_of_a_topic_was_fetched_and_not_posted(store: Store) -> None:
    root = store.write_sync(operator)
    content = IncomingEvent(0, "g-1", 0, CONTENT_EVENT, b"<feed/>")
    store.write_sync(events.accept_all, [content])
    async with open_dashboard(store, root) as browser:
        assert "fetched from a WebSub topic" in text_of(await browser.page("/ui/events/1"))
