"""Assertions that the tests of the hub share."""

import hashlib
import hmac
from functools import cache
from typing import Any

import httpx
import orjson

from hub.manual.library import manual
from hub.manual.page import INDEX
from store import Connection, Row, Store
from store.delivery import event_queries, events
from store.delivery.outcomes.attempt_outcomes import record
from store.delivery.outcomes.outcome import Outcome
from store.ordering.delivery_states import DEAD, DELIVERED

BASE = "https://forge.example/api/v3"


def assert_error(
    answer: httpx.Response, status: int, message: str | None = None, *, code: str | None = None
) -> dict[str, Any]:
    """Check a response for the common shape of all errors. Return its content."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.headers["X-Service-Request-Id"]
    content: dict[str, Any] = answer.json()
    assert content["status"] == str(status)
    assert_documented(content["documentation_url"], f"{BASE}/docs")
    assert content.keys() <= {"message", "documentation_url", "status", "errors", "code"}
    if message is not None:
        assert content["message"] == message
    if code is not None:
        (detail,) = content["errors"]
        assert detail["code"] == code
        assert {"resource", "field"} <= detail.keys()
    return content


def assert_documented(url: str, documentation: str) -> None:
    """Assert that a `documentation_url` leads to a page of the manual and to a heading in it."""
    assert url.startswith(documentation)
    assert is_in_manual(url.removeprefix(documentation)), url


@cache
def is_in_manual(place: str) -> bool:
    """Whether a path below `/docs`, such as `/reference/errors#conflict`, is in the manual."""
    name, _, anchor = place.removeprefix("/").partition("#")
    page = manual().pages.get(name or INDEX)
    return page is not None and (not anchor or anchor in page.anchors)


def links(answer: httpx.Response) -> dict[str, str]:
    """The URLs of the Link header, by relation."""
    return {str(rel): link["url"] for rel, link in answer.links.items()}


def by_id(path: str, repo_id: int = 1) -> str:
    """The URL of a path below a repository, with its id, as links to other pages have it."""
    return "/".join([f"{BASE}/repositories/{repo_id}", *path.split("/")[4:]])


def signature(secret: str, body: bytes) -> str:
    """The value of `X-Hub-Signature-256` for a body, as a platform sends it."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def bodies(store: Store, name: str) -> list[dict[str, Any]]:
    """The payloads of the events of this name that are in the store, oldest first."""

    def read(db: Connection) -> list[dict[str, Any]]:
        rows = event_queries.newest(db, limit=100, name=name)[::-1]
        return [orjson.loads((events.get(db, row["id"]) or {})["body"]) for row in rows]

    return store.read_sync(read)


def waiting(store: Store, hook_id: int) -> list[Row]:
    """The deliveries of this hook, oldest first, with each event's name and guid."""
    return store.read_sync(
        lambda db: db.all(
            "SELECT d.*, e.name, e.guid FROM delivery d JOIN event e ON e.id = d.event_id"
            " WHERE d.hook_id = :id ORDER BY d.id",
            id=hook_id,
        )
    )


def attempted(
    store: Store, hook_id: int, *, status: int | None = 200, error: str | None = None
) -> None:
    """Record an attempt of each waiting delivery of this hook, as the worker would."""
    for row in waiting(store, hook_id):
        if row["state"] == 0:
            store.write_sync(record, [_outcome(store, row, status, error)])
            store.write_sync(_close, row["id"], row["event_id"])


def _close(db: Connection, delivery_id: int, event_id: int) -> None:
    db.execute("UPDATE delivery SET state = 1 WHERE id = :id", id=delivery_id)


def _outcome(store: Store, row: Row, status: int | None, error: str | None) -> Outcome:
    delivered = status == 200 and error is None
    return Outcome(
        lease_id=0,
        delivery_id=row["id"],
        hook_id=row["hook_id"],
        event_id=row["event_id"],
        repo_id=row["repo_id"],
        number=1,
        redelivery=row["redelivery"],
        started_at=store.clock.now(),
        duration=12_345,
        status_code=status,
        error=error,
        url="https://receiver.example/in",
        address="192.0.2.7:443",
        timings='{"connect":2000,"headers":10000}',
        request_head="POST /in HTTP/1.1\r\nContent-Type: application/json\r\nX-Hub-Signature: ***",
        response_head=None if status is None else "Server: test\r\nContent-Length: 2",
        response_body=None if status is None else "ok",
        state=DELIVERED if delivered else DEAD,
        due_at=store.clock.now(),
    )
