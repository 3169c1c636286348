"""Projection of repositories, and the rules of trust.

An event's sender needs no signature for a repository's activity. Settings, which only
administrators change, need a source that signs. A private repository becomes public
only by an event for that purpose.
"""

from typing import Any

import orjson

from store.accounts import accounts, placeholder_accounts
from store.database import payload_reader, upsert
from store.database.connection import Connection, Row
from store.delivery import sources
from store.delivery.websub import websub
from store.errors import Conflict, Invalid
from store.repositories import (
    repositories,
    repository_counts,
    repository_details,
    repository_names,
)

REPORTED: payload_reader.Readers = {"reported_at": ("updated_at", payload_reader.timestamp)}
HAPPENED: payload_reader.Readers = {
    "stars": ("stargazers_count", payload_reader.number),
    "forks": ("forks_count", payload_reader.number),
    "size": payload_reader.int32,
    "language": payload_reader.nullable(payload_reader.text(100)),
    "pushed_at": payload_reader.nullable(payload_reader.timestamp),
    "updated_at": payload_reader.timestamp,
    **REPORTED,
}
MOST_TOPICS = 100


def _url(value: Any) -> Any:
    # Platforms report an empty text for no URL.
    return None if value == "" else payload_reader.nullable(payload_reader.text(1_000))(value)


def _topics(value: Any) -> Any:
    if not isinstance(value, list):
        return payload_reader.INVALID
    named = [each[:100] for each in value[:MOST_TOPICS] if isinstance(each, str)]
    return orjson.dumps(named).decode()


SETTINGS: payload_reader.Readers = {
    "foreign_id": ("id", payload_reader.number),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "homepage": _url,
    "default_branch": payload_reader.text(255, least=1),
    "topics": _topics,
    "fork": payload_reader.flag,
    "archived": payload_reader.flag,
    **dict.fromkeys(repository_details.FEATURES, payload_reader.flag),
    "mirror_url": _url,
    "created_at": payload_reader.timestamp,
}
COLUMNS = ", ".join(("id", "private", *HAPPENED, *SETTINGS))
PUBLISHED = (("public", None), ("repository", "publicized"))


def find(db: Connection, event: Row, payload: dict[str, Any]) -> Row | None:
    """Return the event's repository, or None.

    If it is unknown and the event's source may describe it, create it.
    """
    reported = repository_names.read(payload)
    known = repositories.get(db, event["repo_id"]) if event["repo_id"] else None
    if reported is None or not sources.is_signed(event):
        return known
    if not event["repo_id"] or _may_have_lost_its_name(known, reported, payload):
        known = _described(db, event, payload, reported)
    return known and _renamed(db, known, reported, payload["repository"])


def _may_have_lost_its_name(
    known: Row | None, reported: repository_names.ReportedRepository, payload: dict[str, Any]
) -> bool:
    """Return whether another repository may have got the name that this one had at the reception.

    The events that prove it were accepted then, and were still to become state.
    """
    if known is None:
        return False
    same_owner = reported.owner.lower() == known["owner"].lower()
    return same_owner and repository_names.is_another(known, payload)


def _described(
    db: Connection,
    event: Row,
    payload: dict[str, Any],
    reported: repository_names.ReportedRepository,
) -> Row | None:
    """Return the repository that a payload names. If it is unknown, create it."""
    owner, name = reported.owner, reported.name
    if not _may_describe(db, event, owner):
        return None
    found = repository_names.find_reported(db, payload, owner, name)
    return found or _make(db, payload["repository"], owner, name)


def _may_describe(db: Connection, event: Row, owner: str) -> bool:
    # A ping is about the platform's own webhook.
    source = sources.get(db, event["source_id"]) if event["name"] != "ping" else None
    if source is None or source["owner_id"] is None:
        return source is not None
    account = accounts.by_login(db, owner)
    return account is not None and account["id"] == source["owner_id"]


def _renamed(
    db: Connection, repo: Row, reported: repository_names.ReportedRepository, given: dict[str, Any]
) -> Row:
    """Return the repository. It gets the name in the payload if that is newer."""
    if not repository_names.is_renamed(db, repo, reported, reported_at(db, given)):
        return repo
    try:
        return repositories.rename(db, repo, reported.name)
    except (Invalid, Conflict):
        return repo


def reported_at(db: Connection, given: dict[str, Any]) -> int | None:
    """Return the platform's time of a repository in a payload. Return None for a wrong one."""
    read = payload_reader.read_fields(given, REPORTED)
    found: int | None = upsert.believed(db, read, upsert.REPORTED).get(upsert.REPORTED)
    return found


def _make(db: Connection, given: dict[str, Any], owner: str, name: str) -> Row | None:
    owner_id = placeholder_accounts.get_or_create(
        db, payload_reader.read_part(given, "owner") | {"login": owner}
    )
    if owner_id is None:
        return None
    try:
        # A repository is private unless the payload says that it is public.
        private = payload_reader.read_field(given, "private", payload_reader.flag) != 0
        return repositories.create(db, owner_id, name, private=private)
    except (Invalid, Conflict):
        return None


def _row(db: Connection, repo_id: int) -> Row:
    return db.required(f"SELECT {COLUMNS} FROM repository WHERE id = :id", id=repo_id)


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    """Update the repository from a payload, except its name and owner."""
    fields = payload_reader.read_fields(
        given, {**HAPPENED, **(SETTINGS if sources.is_signed(event) else {})}
    )
    before = _row(db, repo["id"])
    if _is_outdated(before, fields, event):
        return
    if before["foreign_id"] is not None and not sources.is_signed(event):
        fields.pop("reported_at", None)
    if _is_late_push(before, fields, event):
        del fields["pushed_at"]
    visibility = _visibility(given, event)
    if visibility:
        repository_counts.set_private(db, repo["id"], visibility["private"])
    upsert.update(db, "repository", before, fields | visibility)
    after = payload_reader.read_field(given, "private", payload_reader.flag)
    if sources.is_signed(event) and after and not before["private"]:
        websub.end_private(db, repo["id"])


def _is_outdated(before: Row, fields: Row, event: Row) -> bool:
    """Return whether the payload is older than the stored repository.

    The time in an unsigned event may be invented. It never makes the event of a source outdated: a
    repository that becomes private would stay public. `foreign_id` only comes from sources.
    """
    first = sources.is_signed(event) and before["foreign_id"] is None
    return not first and upsert.is_outdated(before, fields)


def _is_late_push(before: Row, fields: Row, event: Row) -> bool:
    """Return whether a later push is known. A push need not change the time of the repository.

    A time after the event's reception is from a wrong clock, or invented.
    """
    given, kept = fields.get("pushed_at"), before["pushed_at"]
    return given is not None and kept is not None and given < kept <= event["received_at"]


def _visibility(given: dict[str, Any], event: Row) -> Row:
    private = payload_reader.read_field(given, "private", payload_reader.flag)
    published = (event["name"], event["action"]) in PUBLISHED
    believed = sources.is_signed(event) and (private == 1 or (private == 0 and published))
    return {"private": private} if believed else {}
