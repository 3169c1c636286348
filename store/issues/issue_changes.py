"""Changes of issues and pull requests through the API, with their events in the timeline.

A platform's event about the same issue changes the same row. The parts that a change here sets are
recorded, so that an older event does not set them back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from store.clock import SECOND
from store.database import upsert
from store.database.connection import Connection, Row
from store.errors import existing
from store.issues import (
    issue_events,
    issue_field_values,
    issue_references,
    issues,
    labels,
    milestones,
    open_counts,
    own_changes,
    own_numbers,
)
from store.issues.issue_events import IssueEventData
from store.issues.issue_field_values import Change, FieldAssignment
from store.issues.own_changes import Part


@dataclass(frozen=True, slots=True)
class IssueChange:
    """A change: the action of its event, and the label, milestone or account that it is about.

    `before` has the former values of what was edited.
    """

    action: str
    subject: Row | int | None = None
    before: Mapping[str, str | bool | None] = field(default_factory=dict)


def lock(db: Connection, issue: Row) -> Row:
    """Lock an issue until the transaction ends. Return it as it is then.

    Raises Missing if its repository has been removed, and the issue with it.
    """
    query = f"SELECT {issues.COLUMNS} FROM issue WHERE id = :id{db.for_update}"
    return existing(db.one(query, id=issue["id"]), "issue")


def touch(
    db: Connection, issue: Row, fields: Mapping[str, Any], items: Iterable[Part] = ()
) -> None:
    """Set columns of an issue, and the time of its last update.

    Older payloads do not change these columns and these items back.
    """
    upsert.update(db, "issue", issue, {**fields, "updated_at": db.now, "changed_at": db.now})
    open_counts.changed(db, issue, fields)
    own_changes.record(db, issue, fields, items)


def _happened(
    db: Connection, issue: Row, kind: str, by: int, members: Mapping[str, Any] | None = None
) -> None:
    issue_events.add(db, issue, [IssueEventData(kind, by, db.now, members or {})])


def set_texts(
    db: Connection, repo: Row, issue: Row, by: int, texts: Mapping[str, str | None]
) -> list[IssueChange]:
    """Set the `title` or `body`, or both."""
    before = {name: issue[name] for name, text in texts.items() if issue[name] != text}
    if not before:
        return []
    touch(db, issue, texts)
    if "title" in before:
        rename = {"from": before["title"], "to": texts["title"]}
        _happened(db, issue, "renamed", by, {"rename": rename})
    if "body" in before:
        issue_references.references_in(db, repo, issue, texts["body"], by=by, at=db.now)
    return [IssueChange("edited", before=before)]


def set_state(
    db: Connection, issue: Row, by: int, state: str, reason: str | None
) -> list[IssueChange]:
    """Close or reopen an issue. A closed one is closed again for another reason.

    A reason that does not fit the state counts as none.
    """
    closed = state == "closed"
    fitting = reason if reason in issues.CLOSING_REASONS else None
    wanted = None if issue["is_pull"] else (fitting or "completed") if closed else "reopened"
    if issue["state"] == state:
        return _close_again(db, issue, by, wanted) if wanted and closed and fitting else []
    times = {"closed_at": db.now if closed else None, "closed_by_id": by if closed else None}
    touch(db, issue, {"state": state, "state_reason": wanted, **times})
    milestones.count_issue(db, issue["milestone_id"], issue["state"], -1)
    milestones.count_issue(db, issue["milestone_id"], state, 1)
    action = "closed" if closed else "reopened"
    _happened(db, issue, action, by, {} if issue["is_pull"] else {"state_reason": wanted})
    return [IssueChange(action)]


def _close_again(db: Connection, issue: Row, by: int, reason: str | None) -> list[IssueChange]:
    """Change the reason of a closed issue. It stays closed since the same time."""
    if issue["state_reason"] == reason:
        return []
    touch(db, issue, {"state_reason": reason})
    _happened(db, issue, "closed", by, {"state_reason": reason})
    return [IssueChange("closed")]


def set_lock(
    db: Connection, issue: Row, by: int, *, locked: bool, reason: str | None = None
) -> list[IssueChange]:
    """Lock or unlock the conversation. A locked one can be locked again for another reason."""
    if bool(issue["locked"]) == locked and reason in (None, issue["lock_reason"]):
        return []
    touch(db, issue, {"locked": int(locked), "lock_reason": reason})
    action = "locked" if locked else "unlocked"
    _happened(db, issue, action, by, {"lock_reason": reason} if locked else {})
    return [IssueChange(action)]


def set_milestone(db: Connection, issue: Row, by: int, milestone: Row | None) -> list[IssueChange]:
    """Set the milestone, or remove it."""
    wanted = None if milestone is None else milestone["id"]
    if issue["milestone_id"] == wanted:
        return []
    changes = []
    former = milestones.of(db, {issue["milestone_id"]} - {None}).get(issue["milestone_id"])
    for action, row, number in (("demilestoned", former, -1), ("milestoned", milestone, 1)):
        if row is not None:
            milestones.count_issue(db, row["id"], issue["state"], number)
            _happened(db, issue, action, by, {"milestone": {"title": row["title"]}})
            changes.append(IssueChange(action, row))
    touch(db, issue, {"milestone_id": wanted})
    return changes


def set_labels(db: Connection, issue: Row, by: int, wanted: Iterable[Row]) -> list[IssueChange]:
    """Replace the labels on an issue."""
    held = {row["id"]: row for row in labels.of_issues(db, [issue["id"]]).get(issue["id"], [])}
    after = {row["id"]: row for row in wanted}
    if not upsert.set_related(db, "issue_label", ("issue_id", "label_id"), issue["id"], after):
        return []
    touch(db, issue, {}, [("label", number) for number in held.keys() ^ after.keys()])
    changes = [IssueChange("unlabeled", row) for number, row in held.items() if number not in after]
    changes += [IssueChange("labeled", row) for number, row in after.items() if number not in held]
    for change in changes:
        assert isinstance(change.subject, dict), "it is a label"
        label = {"name": change.subject["name"], "color": change.subject["color"]}
        _happened(db, issue, change.action, by, {"label": label})
    return changes


def set_assignees(db: Connection, issue: Row, by: int, wanted: Iterable[int]) -> list[IssueChange]:
    """Replace the assignees of an issue, given by account id."""
    held, after = issues.assignees(db, [issue["id"]]).get(issue["id"], []), [*dict.fromkeys(wanted)]
    table = ("issue_assignee", ("issue_id", "account_id"))
    if not upsert.set_related(db, *table, issue["id"], after):
        return []
    touch(db, issue, {}, [("assignee", one) for one in {*held} ^ {*after}])
    changes = [IssueChange("unassigned", one) for one in held if one not in after]
    changes += [IssueChange("assigned", one) for one in after if one not in held]
    for change in changes:
        members = {"assignee": change.subject, "assigner": by}
        _happened(db, issue, change.action, by, members)
    return changes


def set_fields(
    db: Connection, issue: Row, wanted: Mapping[int, FieldAssignment], *, instead: bool = False
) -> list[Change]:
    """Assign values to fields, by field id. With `instead`, clear all other fields."""
    before = lock(db, issue)
    return _fields_changed(db, before, issue_field_values.fill(db, before, wanted, instead=instead))


def clear_field(db: Connection, issue: Row, field_id: int) -> list[Change]:
    before = lock(db, issue)
    return _fields_changed(db, before, issue_field_values.empty(db, before, [field_id]))


def _fields_changed(db: Connection, issue: Row, changes: list[Change]) -> list[Change]:
    ids = {row["field_id"] for change in changes for row in change if row is not None}
    if ids:
        touch(db, issue, {}, [("field", field_id) for field_id in ids])
    return changes


def create(db: Connection, repo: Row, author_id: int, fields: Mapping[str, Any]) -> Row:
    """Create an issue with the next free number. `fields` has `title` and other columns."""
    # Platforms report whole seconds, and an event of the same second must not count as outdated.
    second = db.now // SECOND * SECOND
    values = {"author_id": author_id, "reported_at": second, "made_here": 1, **fields}
    made = None
    while made is None:
        # A platform's event may bring the same number at this moment.
        number = own_numbers.following(db, repo["id"])
        made = upsert.insert_with_number(db, "issue", repo["id"], number, values)
    open_counts.added(db, repo["id"], values)
    row = issues.of(db, [made])[made]
    issue_references.references_in(db, repo, row, row["body"], by=author_id, at=db.now)
    return row
