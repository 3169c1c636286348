"""Deliveries to the hook of an app: signed payloads that name the installation."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from waiting import until
from worker_harness import Post, WorkerHarness, said

from store import Connection, Row
from store.accounts import apps
from store.apps import app_hooks, installations
from store.delivery import attempts, delivery_queries, outbox

URL = "https://mill.example/hook"
SECRET = "open sesame"


@dataclass
class Mill:
    """An app, its installation on the owner of the harness's repository, and its hook."""

    app: Row
    on: Row
    hook: Row


@pytest.fixture
def mill(harness: WorkerHarness) -> Mill:
    def make(db: Connection) -> Mill:
        owner = {"id": harness.repo["owner_id"], "login": "ada", "kind": "User"}
        _, app = apps.create(
            db,
            owner["id"],
            "Mill",
            url="https://mill.example/",
            kind="integration",
            permissions={"contents": "read"},
            events=["push"],
        )
        on = installations.create(db, app, owner)
        return Mill(app, on, app_hooks.create(db, app, url=URL, secret=SECRET, content_type="json"))

    return harness.store.write_sync(make)


async def sent(harness: WorkerHarness, body: bytes = b'{"ref":"refs/heads/main"}') -> Post:
    await harness.work()
    await harness.event(body)
    await harness.over(delivered=1)
    (post,) = harness.network.posts
    return post


async def test_a_payload_names_the_installation(harness: WorkerHarness, mill: Mill) -> None:
    post = await sent(harness)
    payload = orjson.loads(post.body)
    assert payload == {"ref": "refs/heads/main", "installation": payload["installation"]}
    assert payload["installation"]["id"] == mill.on["id"]
    assert sorted(payload["installation"]) == ["id", "node_id"]
    signature = hmac.new(SECRET.encode(), post.body, hashlib.sha256).hexdigest()
    headers = post.headers
    assert headers["x-hub-signature-256"] == f"sha256={signature}"
    assert headers["content-length"] == str(len(post.body))
    assert headers["x-service-hook-installation-target-type"] == "integration"
    assert headers["x-service-hook-installation-target-id"] == str(mill.app["id"])


async def test_only_the_payload_of_the_app_names_it(harness: WorkerHarness, mill: Mill) -> None:
    harness.hook("https://own.example/hook")
    await harness.work()
    await harness.event(b'{"a":1}')
    await harness.over(delivered=2)
    assert [post.body for post in harness.network.to("own.example")] == [b'{"a":1}']
    assert b"node_id" in harness.network.to("mill.example")[0].body


async def test_an_attempt_shows_the_sent_payload(harness: WorkerHarness, mill: Mill) -> None:
    post = await sent(harness)
    (row,) = harness.store.read_sync(attempts.page, mill.hook["id"], limit=2)
    assert row["installation_id"] == mill.on["id"]
    shown = harness.store.read_sync(attempts.get_of_app, mill.app["id"], row["id"])
    assert shown["event_body"] == post.body
    assert harness.store.read_sync(attempts.get_of_app, mill.app["id"] + 1, row["id"]) is None


async def test_another_attempt_names_it_too(harness: WorkerHarness, mill: Mill) -> None:
    answers = [said(500), said()]
    harness.network.script = lambda post: answers.pop(0)
    await harness.work(retry_schedule=[0, 30])
    await harness.event(b'{"a":1}')
    await until(lambda: harness.store.read_sync(attempts.page, mill.hook["id"], limit=2))
    await harness.pass_time(31)
    await harness.over(delivered=1)
    first, second = harness.network.posts
    assert first.body == second.body


@pytest.mark.parametrize("change", ["suspend", "remove"])
async def test_nothing_is_sent_once_the_installation_is_over(
    harness: WorkerHarness, mill: Mill, change: str
) -> None:
    await harness.event()
    harness.store.write_sync(getattr(installations, change), mill.on)
    await harness.work()
    await harness.over(dead=1)
    assert harness.network.posts == []
    (row,) = harness.store.read_sync(delivery_queries.page, limit=2)
    assert "not installed there" in row["reason"]


async def test_events_about_the_app_itself_stay_as_they_are(
    harness: WorkerHarness, mill: Mill
) -> None:
    def emit(db: Connection, name: str, payload: dict[str, Any]) -> None:
        outbox.emit(db, name, None, 0, payload, only_hook=mill.hook["id"])

    harness.store.write_sync(emit, "ping", {"zen": "Ring once."})
    whole = {"installation": {"id": 7, "app_slug": "mill"}}
    harness.store.write_sync(emit, "installation", whole)
    await harness.work()
    await harness.over(delivered=2)
    found = {post.headers["x-service-event"]: post.body for post in harness.network.posts}
    assert {name: orjson.loads(body) for name, body in found.items()} == {
        "ping": {"zen": "Ring once."},
        "installation": whole,
    }
    rows = harness.store.read_sync(attempts.page, mill.hook["id"], limit=3)
    named = {row["event"]: row["installation_id"] for row in rows}
    assert named == {"ping": None, "installation": 7}
