"""The little world that events are posted into: a user, a repository, a token, hooks."""

import time
from typing import Any

from store import Connection, Store, accounts, hooks, repositories, tokens

OWNER, NAME = "bench", "marked"
TOPIC = f"/{OWNER}/{NAME}/events/push"
SECRET = "the quick brown fox jumps over the lazy dog"
LOOK_EVERY = 0.002
WARMING = 20
"""Events that are sent before the clock runs, so that connections are there."""


def make(db: Connection, *, subscribers: int = 0, port: int = 0) -> dict[str, Any]:
    """The world; `subscribers` hooks that deliver to a local port. Its token and repository."""
    owner = accounts.create(db, OWNER)
    repo = repositories.create(db, owner["id"], NAME)
    token, _ = tokens.create(db, owner["id"], scopes=["repo"])
    for number in range(subscribers):
        subscribe(db, repo["id"], f"http://127.0.0.1:{port}/hooks/{number}")
    return {"token": token, "repo_id": repo["id"]}


def subscribe(db: Connection, repo_id: int, url: str) -> None:
    """A hook for pushes, as JSON, signed."""
    hooks.create(db, repo_id, url=url, events=["push"], content_type="json", secret=SECRET)


def unfinished(db: Connection) -> bool:
    """Whether any delivery is waiting, in a worker's hands or not."""
    return bool(
        db.tuples("SELECT 1 FROM delivery WHERE lease_id IS NOT NULL LIMIT 1")
        or db.tuples(
            "SELECT 1 FROM delivery WHERE hook_id > 0 AND state = 0 AND lease_id IS NULL LIMIT 1"
        )
    )


def finished(store: Store) -> float:
    """Wait until nothing is waiting in a store that another process works on; the moment it was
    so, on the clock of time.perf_counter.
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


def check(store: Store, deliveries: int) -> None:
    """RuntimeError unless so many deliveries have arrived: otherwise nothing was measured."""
    arrived = store.look(_delivered)
    if arrived != deliveries:
        raise RuntimeError(f"{arrived} of {deliveries} deliveries arrived")


def _delivered(db: Connection) -> int:
    found: int = db.value("SELECT count(*) FROM delivery WHERE state = 1")
    return found
