"""Repositories as platforms tell of them.

What happened to a repository is believed of whoever may post its events. Its settings, which only
its administrators change, are believed of a platform that signs; and that a private one is public
only where that is what the event is about.
"""

from typing import Any

import orjson

from store import accounts, foreign, merging, repositories, sources, strangers, websub
from store.connection import Connection, Row
from store.errors import Conflict, Invalid

HAPPENED: foreign.Readers = {
    "stars": ("stargazers_count", foreign.number),
    "forks": ("forks_count", foreign.number),
    "size": foreign.number,
    "language": foreign.nullable(foreign.text(100)),
    "pushed_at": foreign.nullable(foreign.moment),
    "updated_at": foreign.moment,
    "told_at": ("updated_at", foreign.moment),
}
MOST_TOPICS = 100


def _topics(value: Any) -> Any:
    if not isinstance(value, list):
        return foreign.ODD
    named = [each[:100] for each in value[:MOST_TOPICS] if isinstance(each, str)]
    return orjson.dumps(named).decode()


SETTINGS: foreign.Readers = {
    "foreign_id": ("id", foreign.number),
    "description": foreign.nullable(foreign.text(1_000)),
    "homepage": foreign.nullable(foreign.text(1_000)),
    "default_branch": foreign.text(255, least=1),
    "topics": _topics,
    "fork": foreign.flag,
    "archived": foreign.flag,
}
COLUMNS = ", ".join(("id", "private", *HAPPENED, *SETTINGS))
PUBLISHED = (("public", None), ("repository", "publicized"))


def trusted(event: Row) -> bool:
    """Whether a source signed the event, and it was not posted by somebody with a token."""
    return bool(event["source_id"] > 0)


def find(db: Connection, event: Row, payload: dict[str, Any]) -> Row | None:
    """The repository that the event is of, made if its source may speak for it and tells what it
    is. None where there is none.
    """
    if event["repo_id"]:
        return repositories.get(db, event["repo_id"])
    given = foreign.part(payload, "repository") or {}
    owner, slash, name = str(given.get("full_name", "")).partition("/")
    if not slash or "\0" in owner + name or not _speaks_for(db, event, owner):
        return None
    known = repositories.find(db, owner, name)
    return known or _renamed(db, payload, owner, name) or _make(db, given, owner, name)


def _speaks_for(db: Connection, event: Row, owner: str) -> bool:
    # A ping is about a platform's own webhook.
    source = sources.get(db, event["source_id"]) if event["name"] != "ping" else None
    if source is None or source["owner_id"] is None:
        return source is not None
    account = accounts.by_login(db, owner)
    return account is not None and account["id"] == source["owner_id"]


def _renamed(db: Connection, payload: dict[str, Any], owner: str, name: str) -> Row | None:
    """The repository that the event gives a new name, which it then has."""
    changes = foreign.part(payload, "changes") or {}
    renamed = foreign.part(foreign.part(changes, "repository") or {}, "name") or {}
    before = foreign.one(renamed, "from", foreign.text(100))
    known = None if before is None else repositories.find(db, owner, before)
    told = foreign.one(payload["repository"], "id", foreign.number)
    if known is None or told is None or told != _row(db, known["id"])["foreign_id"]:
        return None
    try:
        return repositories.rename(db, known, name)
    except (Invalid, Conflict):
        return None


def _make(db: Connection, given: dict[str, Any], owner: str, name: str) -> Row | None:
    owner_id = strangers.meet(db, (foreign.part(given, "owner") or {}) | {"login": owner})
    if owner_id is None:
        return None
    try:
        # What is not said to be public is not shown.
        private = foreign.one(given, "private", foreign.flag) != 0
        return repositories.create(db, owner_id, name, private=private)
    except (Invalid, Conflict):
        return None


def _row(db: Connection, repo_id: int) -> Row:
    row = db.one(f"SELECT {COLUMNS} FROM repository WHERE id = :id", id=repo_id)
    assert row is not None
    return row


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    """Take up what is told of the repository. Neither its name nor its owner changes by it."""
    fields = foreign.fields(given, {**HAPPENED, **(SETTINGS if trusted(event) else {})})
    before = _row(db, repo["id"])
    if merging.outdated(before, fields):
        return
    merging.update(db, "repository", before, fields | _visibility(given, event))
    after = foreign.one(given, "private", foreign.flag)
    if trusted(event) and after and not before["private"]:
        websub.hide(db, repo["id"])


def _visibility(given: dict[str, Any], event: Row) -> Row:
    private = foreign.one(given, "private", foreign.flag)
    published = (event["name"], event["action"]) in PUBLISHED
    believed = trusted(event) and (private == 1 or (private == 0 and published))
    return {"private": private} if believed else {}
