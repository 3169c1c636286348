"""The commits that platforms describe in events, in the form in which they are stored."""

from collections.abc import Mapping
from typing import Any

import orjson

from store.database import payload_reader
from store.database.connection import Row

MOST_MESSAGE = 16_384
COMMIT: payload_reader.Readers = {
    "id": payload_reader.text(64, 1),
    "tree_id": payload_reader.text(64, 1),
    "message": payload_reader.text(MOST_MESSAGE),
    "timestamp": payload_reader.timestamp,
}
PERSON: payload_reader.Readers = {
    "name": payload_reader.text(255),
    "email": payload_reader.text(255),
}
LOGIN: payload_reader.Readers = {"username": payload_reader.text(100)}


def read(given: Mapping[str, Any]) -> str | None:
    """Return the member `head_commit` of a payload in its stored form; None without a whole one."""
    reported = payload_reader.read_part(given, "head_commit")
    found: Row = payload_reader.read_fields(reported, COMMIT)
    if found.keys() != COMMIT.keys():
        return None
    people = {name: _person(reported, name) for name in ("author", "committer")}
    return orjson.dumps(found | people).decode()


def _person(reported: Mapping[str, Any], name: str) -> Row | None:
    given = payload_reader.read_part(reported, name)
    found: Row = payload_reader.read_fields(given, PERSON)
    if found.keys() != PERSON.keys():
        return None
    named: Row = payload_reader.read_fields(given, LOGIN)
    return found | named
