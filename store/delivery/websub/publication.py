"""The rule for what topics publish.

They publish no drafts, members' fields, secret teams and examples, and nothing about private
repositories of others.
"""

import re
from typing import Any

import orjson

from store.database import body_codec
from store.database.connection import Row
from store.delivery.incoming import EXAMPLE_SOURCE

# Actions of events about a field of issues.
FIELDS = ("field_added", "field_removed")
# Events that connect two issues, and members with the repository of the other one.
RELATIONS = ("sub_issues", "issue_dependencies")
RELATED = ("sub_issue_repo", "parent_issue_repo", "blocked_issue_repo", "blocking_issue_repo")
PRIVATE = re.compile(rb'"private"\s*:\s*true')
# JSON can escape each letter, and senders may do so. `<`, `>` and `&` are escaped often.
ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")
# Members whose content users choose. A payload is public with its event, whatever they say.
CHOSEN = frozenset(["client_payload", "inputs", "npm_metadata", "payload"])
# Members of `changes` with the repository to which an issue moves, or from which it comes.
MOVES = ("new_repository", "old_repository")


def is_published(name: str, body: bytes, *, public: bool = True) -> bool:
    """Return whether every reader of the repository, which may be `public`, may see this event.

    A draft release is visible only to users with write access, and a field of issues may be visible
    only to the members of an organization. A secret team is visible only to its members and to
    owners. Another repository that an event names may be private.
    """
    body = _plain(body)
    if b'"secret"' in body and _has(read(body), "privacy", "secret"):
        return False
    if public and _names_private(body):
        return False
    if name == "release":
        return not part(read(body), "release").get("draft")
    if name == "issues" and b'"issue_field"' in body:
        return part(read(body), "issue_field").get("visibility") == "all"
    if name in RELATIONS or (name == "issues" and b'"changes"' in body):
        return _is_within(read(body))
    return True


def _names_private(body: bytes) -> bool:
    """Return whether a repository anywhere in the payload is private.

    It can be the event's own one: the event comes before the state that follows from it.
    """
    return PRIVATE.search(body) is not None and _has(read(body), "private", True)


def _plain(body: bytes) -> bytes:
    """Return the payload without escaped letters, so that a search finds its members."""
    return orjson.dumps(read(body)) if ESCAPED_LETTER.search(body) else body


def _has(payload: dict[str, Any], name: str, wanted: Any) -> bool:
    """Return whether an object of the platform in the payload has this member with this value."""
    left: list[Any] = [payload]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if one.get(name) == wanted:
                return True
            left += [value for key, value in one.items() if key not in CHOSEN]
        elif isinstance(one, list):
            left += one
    return False


def _is_within(payload: dict[str, Any]) -> bool:
    """Return whether each repository of another issue is public or the event's own one."""
    own, changes = part(payload, "repository").get("full_name"), part(payload, "changes")
    others = [part(payload, name) for name in RELATED] + [part(changes, name) for name in MOVES]
    return all(
        one.get("private") is False or one.get("full_name", "") == own for one in others if one
    )


def is_hidden(row: Row, *, public: bool) -> bool:
    """Return whether a feed leaves this event out. A `body` of None is one that is not read."""
    if row["source_id"] == EXAMPLE_SOURCE:
        return True
    body = None if row["body"] is None else _plain(body_codec.decompress(row["body"]))
    if row["name"] == "release" or row["action"] in FIELDS:
        # The body is needed to decide. Without it, the event might be hidden.
        return body is None or not is_published(row["name"], body, public=public)
    return public and body is not None and _names_private(body)


def read(body: bytes) -> dict[str, Any]:
    """Return the payload in a body; an empty one if it is no JSON object."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def part(payload: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object that is this member of a payload; an empty one if there is none."""
    found = payload.get(name)
    return found if isinstance(found, dict) else {}
