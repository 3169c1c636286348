"""Rows that several pages are tried with: an operator, a hook, and events."""

from typing import Any

from ui_world import OPERATING

from store import Connection, Row
from store.accounts import accounts, tokens
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks


def operator(db: Connection) -> str:
    """The token of a site administrator."""
    root = accounts.create(db, "root", site_admin=True)
    value, _ = tokens.create(db, root["id"], scopes=OPERATING)
    return value


def hook(db: Connection, repo: Row, *names: str, **given: Any) -> Row:
    """A hook of a repository."""
    given.setdefault("url", "https://receiver.example/hook")
    return hooks.create(db, repo["id"], events=names or ("push",), **given)


def arrive(db: Connection, repo_id: int, many: int = 1, **given: Any) -> int:
    """Events of a repository; returns the last one's id."""
    given = {"name": "push", "body": b'{"ref":"<main>"}', "scope": repo_id or -1} | given
    name = given["name"]
    made = [
        IncomingEvent(guid=f"{repo_id}-{name}-{db.now}-{at}", repo_id=repo_id, **given)
        for at in range(many)
    ]
    return events.accept_all(db, made)[-1].event_id
