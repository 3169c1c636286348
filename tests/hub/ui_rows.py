"""Rows for tests of several dashboard pages: an operator, a hook, and events."""

from typing import Any

from ui_world import OPERATING

from store import Connection, Row
from store.accounts import accounts, tokens
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks


def operator(db: Connection) -> str:
    """Create a site administrator. Return a token of this account."""
    root = accounts.create(db, "root", site_admin=True)
    value, _ = tokens.create(db, root["id"], scopes=OPERATING)
    return value


def hook(db: Connection, repo: Row, *names: str, **given: Any) -> Row:
    """Create a hook of a repository. It gets the event `push` by default."""
    given.setdefault("url", "https://receiver.example/hook")
    return hooks.create(db, repo["id"], events=names or ("push",), **given)


def arrive(db: Connection, repo_id: int, many: int = 1, **given: Any) -> int:
    """Store `many` events of a repository, each a `push` by default. Return the last one's id."""
    usual: dict[str, Any] = {"name": "push", "body": b'{"ref":"<main>"}', "scope": repo_id or -1}
    given = usual | given
    name = given["name"]
    made = [
        IncomingEvent(guid=f"{repo_id}-{name}-{db.now}-{at}", repo_id=repo_id, **given)
        for at in range(many)
    ]
    return events.accept_all(db, made)[-1].event_id
