"""An ordinary hour of an installation, for the picture that the README shows."""

import math
from typing import Any

import orjson

from store import Connection
from store.accounts import accounts, sessions, tokens
from store.clock import MINUTE, SECOND
from store.database import body_codec
from store.hooks import hooks
from store.repositories import repositories

MINUTES = 60
BODY = orjson.dumps({"ref": "refs/heads/main", "commits": []})
# Repository to its receivers, each with how long it takes to answer, in milliseconds.
RECEIVERS = {
    "bells": {"https://ci.example/hooks/bells": 42, "https://chat.example/ringers": 95},
    "belfry": {"https://ci.example/hooks/belfry": 38, "https://search.example/index": 310},
    "clock": {"https://deploy.example/clock": 180, "https://metrics.example/events": 21},
}
FAILING = "https://deploy.example/clock"


def fill_store(db: Connection) -> str:
    """Insert an hour of events and deliveries. Return the session of a site administrator."""
    tower = accounts.create(db, "tower")
    event = 0
    for name, receivers in RECEIVERS.items():
        repo = repositories.create(db, tower["id"], name)
        made = {url: _hook(db, repo["id"], url) for url in receivers}
        for at in range(MINUTES):
            event += 1
            _event(db, event, repo["id"], MINUTES - at)
            for url, hook_id in made.items():
                _attempt(db, event, hook_id, repo["id"], url, receivers[url], MINUTES - at)
    for ago in range(MINUTES):
        _minute(db, ago)
    root = accounts.create(db, "grace", site_admin=True)
    _, token = tokens.create(db, root["id"], scopes=["repo", "read:enterprise"])
    return sessions.begin(db, token_id=token["id"])


def _hook(db: Connection, repo_id: int, url: str) -> int:
    made = hooks.create(db, repo_id, url=url, events=["push", "issues"], content_type="json")
    if url == FAILING:
        since = db.now - 12 * MINUTE
        db.execute(
            "UPDATE hook SET failing_since = :since WHERE id = :id", since=since, id=made["id"]
        )
    return int(made["id"])


def _event(db: Connection, number: int, repo_id: int, ago: int) -> None:
    db.execute(
        "INSERT INTO event (id, guid, scope, repo_id, source_id, name, action, received_at, size,"
        " digest, body) VALUES (:id, 'guid-' || :id, :repo, :repo, 0, 'push', NULL, :at, :size,"
        " x'00', :body)",
        id=number, repo=repo_id, at=db.now - ago * MINUTE, size=len(BODY),
        body=body_codec.compress(BODY),
    )  # fmt: skip


def _attempt(
    db: Connection, event: int, hook_id: int, repo_id: int, url: str, took: int, ago: int
) -> None:
    failed = url == FAILING and ago <= 12
    state = (0 if ago <= 5 else 2) if failed else 1
    given: dict[str, Any] = {
        "event": event, "hook": hook_id, "repo": repo_id, "state": state, "url": url,
        "due": db.now + 60 * MINUTE, "at": db.now - ago * MINUTE,
        "took": (took + event % 17) * SECOND // 1000, "status": 503 if failed else 200,
    }  # fmt: skip
    db.execute(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, attempts, due_at)"
        " VALUES (:event, :hook, :repo, :state, 1, :due)",
        **given,
    )
    db.execute(
        "INSERT INTO attempt (delivery_id, hook_id, event_id, repo_id, number, redelivery,"
        " started_at, duration, status_code, url, timings, request_head, response_head,"
        " response_body) SELECT max(id), :hook, :event, :repo, 1, 0, :at, :took, :status, :url,"
        " '{}', '', '', '' FROM delivery",
        **given,
    )


def _minute(db: Connection, ago: int) -> None:
    """Insert the counts of a minute of the whole installation."""
    events = round(140 + 60 * math.sin(ago / 9) + 25 * math.sin(ago * 2.3))
    failed = 34 if ago <= 12 else 2
    db.execute(
        "INSERT INTO tally (repo_id, minute, shard, events, delivered, failed, b13, b15, b17, b20)"
        " VALUES (0, :minute, 1, :events, :delivered, :failed, :fast, :usual, :slow, 1)",
        minute=db.now // MINUTE - ago, events=events, delivered=events * 2 - failed, failed=failed,
        fast=events, usual=events * 2 // 3, slow=12 + ago % 7,
    )  # fmt: skip
