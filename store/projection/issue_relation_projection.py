"""Projection of issues, and of relations between them: sub-issues and dependencies."""

from collections.abc import Mapping
from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.issues import issue_events, issues, own_numbers, pulls
from store.projection.issue_event_projection import IssuePayload
from store.repositories import repositories

# Action to three members: the issue itself, the other issue, and the prefix of its repository's.
ROLES = {
    "sub_issue_added": ("parent_issue", "sub_issue", "sub_issue"),
    "sub_issue_removed": ("parent_issue", "sub_issue", "sub_issue"),
    "parent_issue_added": ("sub_issue", "parent_issue", "parent_issue"),
    "parent_issue_removed": ("sub_issue", "parent_issue", "parent_issue"),
    "blocked_by_added": ("blocked_issue", "blocking_issue", "blocked_by"),
    "blocked_by_removed": ("blocked_issue", "blocking_issue", "blocked_by"),
    "blocking_added": ("blocking_issue", "blocked_issue", "blocking"),
    "blocking_removed": ("blocking_issue", "blocked_issue", "blocking"),
}
OTHER = {
    "number": payload_reader.number,
    "title": payload_reader.text(1_024),
    "state": payload_reader.one_of("open", "closed"),
    "state_reason": payload_reader.nullable(payload_reader.one_of(*issues.REASONS)),
}


def put_issue(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    own_numbers.make_room(db, repo["id"], given)
    issues.put(db, repo, given, event)


def put_pull(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    """Project a pull request in a payload."""
    own_numbers.make_room(db, repo["id"], given)
    pulls.put(db, repo, given, event)


def related(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a `sub_issues` or `issue_dependencies` event.

    It is about an issue of its repository, and names another one in any repository.
    """
    roles = ROLES.get(str(event["action"]))
    if roles is None:
        return
    own, other, name = roles
    given = payload_reader.read_part(payload, own)
    number = payload_reader.read_field(given, "number", payload_reader.number)
    if number is None:
        return
    put_issue(db, repo, given, event)
    issue, found = issues.get(db, repo["id"], number), _other(db, repo, payload, other)
    if issue is not None and found is not None:
        change = IssuePayload(db, payload, given, event)
        issue_events.add(db, issue, [change.happening(str(event["action"]), {name: found})])


def _other(
    db: Connection, repo: Row, payload: Mapping[str, Any], name: str
) -> dict[str, Any] | None:
    given = payload_reader.read_part(payload, name)
    found: dict[str, Any] = payload_reader.read_fields(given, OTHER)
    if not {"number", "title", "state"} <= found.keys():
        return None
    within = payload_reader.read_part(payload, f"{name}_repo")
    owner, _, own = str(within.get("full_name", repo["full_name"])).partition("/")
    row = None if "\0" in owner + own else repositories.find(db, owner, own)
    return found | {"repo_id": None if row is None else row["id"]}
