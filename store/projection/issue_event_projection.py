"""Projection of events of issues and pull requests onto issue events.

It maps the actions of events to kinds of issue events, and reads the members of each kind.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from store.accounts import placeholder_accounts
from store.database import payload_reader
from store.database.connection import Connection, Row
from store.issues import issue_events, issue_references, issues
from store.issues.issue_events import IssueEventData
from store.issues.issue_field_options import COLORS

NAME = payload_reader.text(255)
TITLE = payload_reader.text(1_024)
TYPE = {
    "id": payload_reader.number,
    "name": NAME,
    "color": payload_reader.nullable(payload_reader.one_of(*COLORS)),
}
TEAM = {
    "id": payload_reader.number,
    "name": NAME,
    "slug": NAME,
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "privacy": NAME,
    "notification_setting": NAME,
    "permission": NAME,
}

Members = dict[str, Any]


@dataclass(frozen=True, slots=True)
class IssuePayload:
    """An event about an issue or a pull request."""

    db: Connection
    payload: Mapping[str, Any]
    given: Mapping[str, Any]
    """The issue or pull request in the payload."""
    event: Row

    def part(self, name: str) -> Mapping[str, Any]:
        """Return an object in the payload, or an empty one."""
        return payload_reader.read_part(self.payload, name)

    def before(self, name: str) -> Mapping[str, Any]:
        """Return the former value of a field, from the payload's `changes`."""
        return payload_reader.read_part(self.part("changes"), name)

    @property
    def at(self) -> int:
        """Return the event's time from the payload, or the time of reception if that is earlier."""
        said_at, received = self._said_at, int(self.event["received_at"])
        return received if said_at is None else min(said_at, received)

    @property
    def _said_at(self) -> int | None:
        said_at: int | None = payload_reader.read_field(
            self.given, "updated_at", payload_reader.timestamp
        )
        return said_at

    def happening(
        self, kind: str, members: Members, commit_id: str | None = None
    ) -> IssueEventData:
        return IssueEventData.reported(kind, self._said_at, self.event, members, commit_id)


Reader = Callable[[IssuePayload], Members | None]
"""Reads the members of a kind of issue event. Returns None if the payload lacks one."""


def _nothing(change: IssuePayload) -> Members:
    return {}


def _label(change: IssuePayload) -> Members | None:
    given = change.part("label")
    name = payload_reader.read_field(given, "name", NAME)
    color = payload_reader.read_field(given, "color", payload_reader.text(20)) or ""
    return None if name is None else {"label": {"name": name, "color": color}}


def _assignee(change: IssuePayload) -> Members | None:
    assignee = placeholder_accounts.get_or_create(change.db, change.payload.get("assignee"))
    return {"assignee": assignee, "assigner": change.event["sender_id"]} if assignee else None


def _milestone(change: IssuePayload) -> Members | None:
    given = payload_reader.read_object(change.payload, "milestone") or payload_reader.read_part(
        change.given, "milestone"
    )
    title = payload_reader.read_field(given, "title", TITLE)
    return None if title is None else {"milestone": {"title": title}}


def _lock(change: IssuePayload) -> Members:
    return {
        "lock_reason": payload_reader.read_field(
            change.given, "active_lock_reason", payload_reader.text(100)
        )
    }


def _state(change: IssuePayload) -> Members:
    reason = payload_reader.read_field(
        change.given, "state_reason", payload_reader.one_of(*issues.REASONS)
    )
    return {"state_reason": reason}


def _rename(change: IssuePayload) -> Members | None:
    before = payload_reader.read_field(change.before("title"), "from", TITLE)
    after = payload_reader.read_field(change.given, "title", TITLE)
    return None if before is None else {"rename": {"from": before, "to": after or ""}}


def _type(change: IssuePayload) -> Members | None:
    found = _one_type(change.part("type"))
    return found and {"issue_type": found}


def _first_type(change: IssuePayload) -> Members | None:
    return None if change.before("type").get("from") else _type(change)


def _changed_type(change: IssuePayload) -> Members | None:
    found, before = (
        _one_type(change.part("type")),
        payload_reader.read_object(change.before("type"), "from"),
    )
    previous = _one_type(before or {})
    return found and previous and {"issue_type": found, "prev_issue_type": previous}


def _one_type(given: Mapping[str, Any]) -> Members | None:
    found: Members = payload_reader.read_fields(given, TYPE)
    return {"color": None, **found} if {"id", "name"} <= found.keys() else None


def _reviewer(change: IssuePayload) -> Members | None:
    requester = {"review_requester": change.event["sender_id"]}
    reviewer = placeholder_accounts.get_or_create(
        change.db, change.payload.get("requested_reviewer")
    )
    if reviewer is not None:
        return {**requester, "requested_reviewer": reviewer}
    team = payload_reader.read_fields(change.part("requested_team"), TEAM)
    return {**requester, "requested_team": team} if {"id", "name", "slug"} <= team.keys() else None


def _merge(change: IssuePayload) -> Members | None:
    return {} if change.given.get("merged") is True else None


def _base(change: IssuePayload) -> Members | None:
    return {} if change.before("base") else None


def _came(change: IssuePayload) -> Members | None:
    """Read an issue that was opened because it came from another repository."""
    return {} if change.before("old_issue") else None


Kinds = Mapping[str, Mapping[str, Reader]]
"""Action to its possible kinds, each with the reader of its members."""

SAME: Kinds = {
    "assigned": {"assigned": _assignee},
    "demilestoned": {"demilestoned": _milestone},
    "labeled": {"labeled": _label},
    "locked": {"locked": _lock},
    "milestoned": {"milestoned": _milestone},
    "unassigned": {"unassigned": _assignee},
    "unlabeled": {"unlabeled": _label},
    "unlocked": {"unlocked": _nothing},
}
ISSUES: Kinds = {
    **SAME,
    "closed": {"closed": _state},
    "edited": {"renamed": _rename},
    "opened": {"transferred": _came},
    "pinned": {"pinned": _nothing},
    "reopened": {"reopened": _state},
    "typed": {"issue_type_added": _first_type, "issue_type_changed": _changed_type},
    "unpinned": {"unpinned": _nothing},
    "untyped": {"issue_type_removed": _type},
}
PULLS: Kinds = {
    **SAME,
    "closed": {"merged": _merge, "closed": _nothing},
    "converted_to_draft": {"convert_to_draft": _nothing},
    "edited": {"renamed": _rename, "base_ref_changed": _base},
    "ready_for_review": {"ready_for_review": _nothing},
    "reopened": {"reopened": _nothing},
    "review_request_removed": {"review_request_removed": _reviewer},
    "review_requested": {"review_requested": _reviewer},
}


def of_issues(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project an `issues` event."""
    _project(repo, *subject(db, repo, payload, event, "issue"), ISSUES)


def of_pulls(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a `pull_request` event."""
    _project(repo, *subject(db, repo, payload, event, "pull_request"), PULLS)


def _project(repo: Row, issue: Row | None, change: IssuePayload, kinds: Kinds) -> None:
    if issue is None or not issue_events.is_there(issue):
        return
    issue_events.add(change.db, issue, _happenings(change, kinds))
    if change.event["action"] in ("opened", "edited"):
        by, at = issue["author_id"], change.at
        issue_references.references_in(change.db, repo, issue, issue["body"], by=by, at=at)


def subject(
    db: Connection, repo: Row, payload: dict[str, Any], event: Row, name: str
) -> tuple[Row | None, IssuePayload]:
    """Return the issue or pull request in the payload's member `name`, and the payload's reader."""
    given = payload_reader.read_part(payload, name)
    number = payload_reader.read_field(given, "number", payload_reader.number)
    issue = None if number is None else issues.get(db, repo["id"], number)
    return issue, IssuePayload(db, payload, given, event)


def _happenings(change: IssuePayload, kinds: Kinds) -> Iterator[IssueEventData]:
    for kind, read in kinds.get(str(change.event["action"]), {}).items():
        members = read(change)
        if members is not None:
            sha = payload_reader.read_field(
                change.given, "merge_commit_sha", payload_reader.text(64)
            )
            yield change.happening(kind, members, sha if kind == "merged" else None)
