"""The commits that platforms describe in events, in the form in which they are stored."""

from collections.abc import Mapping
from typing import Any

import orjson

from store.database import payload_reader
from store.database.connection import Row

MOST_MESSAGE = 16_384
"""The limit of the bytes of a message. The rest is cut off."""


def _message(value: Any) -> Any:
    found = payload_reader.text(MOST_MESSAGE)(value)
    if found is payload_reader.INVALID:
        return found
    return found.encode()[:MOST_MESSAGE].decode(errors="ignore")


def _email(value: Any) -> Any:
    """Read what can be an address: clients reject the whole answer for an author without one."""
    found = payload_reader.text(255)(value)
    return found if found is not payload_reader.INVALID and "@" in found else payload_reader.INVALID


COMMIT: payload_reader.Readers = {
    "id": payload_reader.text(64, 1),
    "message": _message,
    "timestamp": payload_reader.timestamp,
}
TREE: payload_reader.Readers = {"tree_id": payload_reader.text(64)}
PERSON: payload_reader.Readers = {
    "name": payload_reader.text(255),
    "email": _email,
}
LOGIN: payload_reader.Readers = {"username": payload_reader.text(100)}


def pushed(payload: Mapping[str, Any]) -> str | None:
    """Return the newest commit of a push in its stored form; None without a whole one.

    Gogs sends no `head_commit`, but a list of commits.
    """
    if isinstance(payload.get("head_commit"), dict):
        return read(payload)
    commits = payload.get("commits")
    listed = commits if isinstance(commits, list) else []
    named = (
        one for one in listed if isinstance(one, dict) and one.get("id") == payload.get("after")
    )
    return read({"head_commit": next(named, None)})


def read(given: Mapping[str, Any]) -> str | None:
    """Return the member `head_commit` of a payload in its stored form; None without a whole one.

    The commits of Forgejo, Gitea and Gogs name no tree. It is then stored as an empty text.
    """
    reported = payload_reader.read_part(given, "head_commit")
    found: Row = payload_reader.read_fields(reported, COMMIT)
    if found.keys() != COMMIT.keys():
        return None
    tree: Row = {"tree_id": ""} | payload_reader.read_fields(reported, TREE)
    people = {name: _person(reported, name) for name in ("author", "committer")}
    return orjson.dumps(found | tree | people).decode()


def _person(reported: Mapping[str, Any], name: str) -> Row | None:
    given = payload_reader.read_part(reported, name)
    found: Row = payload_reader.read_fields(given, PERSON)
    if found.keys() != PERSON.keys():
        return None
    named: Row = payload_reader.read_fields(given, LOGIN)
    return found | named
