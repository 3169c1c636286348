"""The rows that a trial needs: a user, a repository, a token and hooks."""

import time
from typing import Any

from store import Connection, Store
from store.accounts import accounts, tokens
from store.database import body_codec
from store.hooks import hook_queries, hooks
from store.repositories import repositories

OWNER, NAME = "bench", "marked"
TOPIC = f"/{OWNER}/{NAME}/events/push"
SECRET = "the quick brown fox jumps over the lazy dog"
LOOK_EVERY = 0.002
FILTER = {
    "payload": {
        "ref": {"$startsWith": "refs/heads/"},
        "sender": {"type": {"$in": ["User", "Organization"]}},
        "commits": {"author": {"username": {"$ne": "robot"}}},
    }
}
"""A filter of three conditions, one of them on each commit. Every payload satisfies it."""
FAILING = "failing"
"""The ordering key that a failing receiver answers with 503. Its deliveries do not count."""
WARMING = 20
"""The events before the measurement, which open the connections."""


def make_pull_hooks(db: Connection, many: int) -> dict[str, Any]:
    """Create the rows with `many` pull hooks. Return the token, and ids of repository and hooks."""
    made = make(db)
    for number in range(many):
        subscribe(db, made["repo_id"], f"pull:{number}")
    rows = hook_queries.page(db, made["repo_id"], limit=many)
    return {**made, "hook_ids": [row["id"] for row in rows]}


def make(
    db: Connection,
    *,
    subscribers: int = 0,
    port: int = 0,
    hosts: int = 1,
    tls: bool = False,
    filtering: bool = False,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Create the rows. Return the token and the repository's id.

    `subscribers` hooks deliver to a local port, spread over `hosts` addresses of the receiver.
    """
    owner = accounts.create(db, OWNER)
    repo = repositories.create(db, owner["id"], NAME)
    token, _ = tokens.create(db, owner["id"], scopes=["repo"])
    for number in range(subscribers):
        origin = f"{'https' if tls else 'http'}://127.0.0.{1 + number % hosts}:{port}"
        options = {"filter": FILTER} if filtering else options
        subscribe(db, repo["id"], f"{origin}/hooks/{number}", options)
    return {"token": token, "repo_id": repo["id"]}


def subscribe(
    db: Connection, repo_id: int, url: str, options: dict[str, Any] | None = None
) -> None:
    """Create a hook for pushes, with JSON bodies and signatures."""
    hooks.create(
        db,
        repo_id,
        url=url,
        events=["push"],
        content_type="json",
        secret=SECRET,
        options=options,
        # The certificates of the receivers are self-signed.
        insecure_ssl=url.startswith("https"),
    )


def unfinished(db: Connection) -> bool:
    """Return whether a delivery is leased, or is waiting and does not have the failing key."""
    return bool(
        db.tuples("SELECT 1 FROM delivery WHERE lease_id IS NOT NULL LIMIT 1")
        or db.tuples(
            "SELECT 1 FROM delivery WHERE hook_id > 0 AND state = 0 AND lease_id IS NULL"
            " AND (ordering_key IS NULL OR ordering_key <> :failing) LIMIT 1",
            failing=FAILING,
        )
    )


def finished(store: Store) -> float:
    """Wait until no delivery is unfinished in a store that another process works on.

    Return that moment, on the clock of time.perf_counter.
    """
    session = store.engine.session()
    try:
        while True:
            session.begin(store.clock.now(), write=False)
            waiting = unfinished(session.db)
            session.commit()
            if not waiting:
                return time.perf_counter()
            time.sleep(LOOK_EVERY)
    finally:
        session.close()


def fill(db: Connection, repo_id: int, events: int, body: bytes) -> None:
    """Insert `events` events of a repository, without deliveries."""
    db.execute(
        "INSERT INTO event (guid, scope, repo_id, source_id, name, received_at, size, digest, body)"
        " WITH RECURSIVE row (number) AS (SELECT 1 UNION ALL"
        " SELECT number + 1 FROM row WHERE number < :many)"
        " SELECT 'guid-' || number, :repo_id, :repo_id, 0, 'push', :now, :size, :digest, :body"
        " FROM row",
        many=events,
        repo_id=repo_id,
        now=db.now,
        size=len(body),
        digest=b"0" * 16,
        body=body_codec.compress(body),
    )


def queue(db: Connection, repo_id: int) -> None:
    """Insert a delivery of each event of a repository to each of its hooks, and wake workers."""
    db.execute(
        "INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at)"
        " SELECT e.id, h.id, e.repo_id, 0, :now FROM event e JOIN hook h ON h.repo_id = e.repo_id"
        " WHERE e.repo_id = :repo_id ORDER BY e.id, h.id",
        repo_id=repo_id,
        now=db.now,
    )
    hook_ids = [row[0] for row in db.tuples("SELECT id FROM hook WHERE repo_id = :id", id=repo_id)]
    db.after_commit(lambda: db.notifier.wake(hook_ids))


def check(store: Store, deliveries: int) -> None:
    """Raise RuntimeError unless exactly `deliveries` deliveries have arrived."""
    arrived = store.read_sync(delivered)
    if arrived != deliveries:
        raise RuntimeError(f"{arrived} of {deliveries} deliveries arrived")


def delivered(db: Connection) -> int:
    """Return the number of deliveries that arrived, without the failing key."""
    found: int = db.value(
        "SELECT count(*) FROM delivery WHERE state = 1"
        " AND (ordering_key IS NULL OR ordering_key <> :failing)",
        failing=FAILING,
    )
    return found
