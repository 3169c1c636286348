"""The rule for what topics publish.

They publish no drafts, members' fields, secret teams and examples, and nothing about private
repositories of others.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import orjson

from store.database import body_codec
from store.database.connection import Row
from store.database.payload_reader import read_part
from store.delivery.incoming import EXAMPLE_SOURCE

# Actions of events about a field of issues.
FIELDS = ("field_added", "field_removed")
# Events that connect two issues, and members with the repository of the other one.
RELATIONS = ("sub_issues", "issue_dependencies")
RELATED = ("sub_issue_repo", "parent_issue_repo", "blocked_issue_repo", "blocking_issue_repo")
PRIVATE = re.compile(rb'"private"\s*:\s*true')
SECRET = re.compile(rb'"secret"')
FIELD = re.compile(rb'"issue_field"')
CHANGES = re.compile(rb'"changes"')
# JSON can escape each letter, and senders may do so. `<`, `>` and `&` are escaped often.
ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")
# Members whose content users choose. A payload is public with its event, whatever they say.
CHOSEN = frozenset(["client_payload", "inputs", "npm_metadata", "payload"])
# Members of `changes` with the repository to which an issue moves, or from which it comes.
MOVES = ("new_repository", "old_repository")


class _Payload:
    """A payload, which is parsed only if it may have what is searched for."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    @cached_property
    def members(self) -> dict[str, Any]:
        return read(self._body)

    def may_have(self, text: re.Pattern[bytes]) -> bool:
        """Return whether this text is in the payload, or may be there with escaped letters."""
        return self._is_escaped or text.search(self._body) is not None

    @cached_property
    def _is_escaped(self) -> bool:
        return ESCAPED_LETTER.search(self._body) is not None


def is_published(name: str, body: bytes, *, public: bool = True) -> bool:
    """Return whether every reader of the repository, which may be `public`, may see this event.

    A draft release is visible only to users with write access, and a field of issues may be visible
    only to the members of an organization. A secret team is visible only to its members and to
    owners. Another repository that an event names may be private.
    """
    payload = _Payload(body)
    if payload.may_have(SECRET) and _has(payload.members, "privacy", "secret"):
        return False
    if public and _names_private(payload):
        return False
    if name == "release":
        return not read_part(payload.members, "release").get("draft")
    if name == "issues" and _names_field(payload):
        return read_part(payload.members, "issue_field").get("visibility") == "all"
    if name in RELATIONS or (name == "issues" and payload.may_have(CHANGES)):
        return _is_within(payload.members)
    return True


def _names_private(payload: _Payload) -> bool:
    """Return whether a repository anywhere in the payload is private.

    It can be the event's own one: the event comes before the state that follows from it.
    """
    return payload.may_have(PRIVATE) and _has(payload.members, "private", True)


def _names_field(payload: _Payload) -> bool:
    return payload.may_have(FIELD) and any(
        "issue_field" in one for one in _objects(payload.members)
    )


def _has(payload: dict[str, Any], name: str, wanted: Any) -> bool:
    """Return whether an object of the platform in the payload has this member with this value."""
    return any(one.get(name) == wanted for one in _objects(payload))


def _objects(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the objects of the platform in the payload."""
    left: list[Any] = [payload]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield one
            left += [value for key, value in one.items() if key not in CHOSEN]
        elif isinstance(one, list):
            left += one


def _is_within(payload: dict[str, Any]) -> bool:
    """Return whether each repository of another issue is public or the event's own one."""
    own, changes = read_part(payload, "repository").get("full_name"), read_part(payload, "changes")
    others = [read_part(payload, name) for name in RELATED] + [
        read_part(changes, name) for name in MOVES
    ]
    return all(
        one.get("private") is False or one.get("full_name", "") == own for one in others if one
    )


def is_hidden(row: Row, *, public: bool) -> bool:
    """Return whether a feed leaves this event out. A `body` of None is one that is not read."""
    if row["source_id"] == EXAMPLE_SOURCE:
        return True
    body = None if row["body"] is None else body_codec.decompress(row["body"])
    if row["name"] == "release" or row["action"] in FIELDS:
        # The body is needed to decide. Without it, the event might be hidden.
        return body is None or not is_published(row["name"], body, public=public)
    return public and body is not None and _names_private(_Payload(body))


def read(body: bytes) -> dict[str, Any]:
    """Return the payload in a body; an empty one if it is no JSON object."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
