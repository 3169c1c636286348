"""The commits that platforms describe in check suites and workflow runs."""

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


def read(given: Mapping[str, Any]) -> str | None:
    """Return the member `head_commit` of a payload in its stored form; None without a whole one."""
    told = payload_reader.read_object(given, "head_commit") or {}
    found: Row = payload_reader.read_fields(told, COMMIT)
    if found.keys() != COMMIT.keys():
        return None
    people = {name: _person(told, name) for name in ("author", "committer")}
    return orjson.dumps(found | people).decode()


def _person(told: Mapping[str, Any], name: str) -> Row | None:
    given = payload_reader.read_object(told, name) or {}
    found: Row = payload_reader.read_fields(given, PERSON)
    return found if found.keys() == PERSON.keys() else None
