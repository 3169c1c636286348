"""The table of the projection: which function projects which object of a payload.

An event may change its repository's state and create placeholder accounts. It never changes rights.
`store.projection.repository_projection` has the rules of trust.
"""

from collections.abc import Callable
from typing import Any

from store.accounts import placeholder_accounts
from store.checks import check_suites, commit_statuses
from store.clock import LATEST
from store.database import payload_reader
from store.database.connection import Connection, Row
from store.delivery import sources
from store.issues import commit_comments, issues, labels, milestones, own_numbers
from store.projection import (
    branch_protection_projection,
    check_run_projection,
    event_moment,
    issue_comment_projection,
    issue_event_projection,
    issue_field_projection,
    issue_relation_projection,
    pull_request_projection,
    repository_projection,
    star_projection,
    workflow_projection,
)
from store.repositories import refs, rule_suites
from store.secret_scanning import secret_alerts

Put = Callable[[Connection, Row, dict[str, Any], Row], Any]
"""Projects one object: `put(db, repository, object, event)`."""
Of = Callable[[Connection, Row, dict[str, Any], Row], Any]
"""Projects an event as a whole: `of(db, repository, payload, event)`."""


def _label(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    # After a label is deleted, it is removed from its issues. The events about these changes must
    # not create it again.
    if event["name"] != "label" and event["action"] not in ("deleted", "unlabeled"):
        labels.put(db, repo, given, event)


def _milestone(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    if event["action"] not in ("deleted", "demilestoned"):
        own_numbers.make_room(db, repo["id"], given, "milestone")
        milestones.put(db, repo, given, event)


def _label_event(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    given = payload_reader.read_part(payload, "label")
    if event["action"] == "deleted":
        labels.delete_reported(db, repo["id"], given, event)
        return
    before = payload_reader.read_part(payload_reader.read_part(payload, "changes"), "name")
    former = payload_reader.read_field(before, "from", payload_reader.text(255))
    if former:
        labels.merge_renamed(db, repo["id"], former, given)
    labels.put(db, repo, given, event)


def _milestone_event(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    if event["action"] == "deleted":
        reported = payload_reader.read_part(payload, "milestone")
        milestones.delete_reported(db, repo["id"], reported)


MEMBERS: dict[str, Put] = {
    "repository": repository_projection.put,
    # Operations lock an issue before its labels and its milestone, too.
    "issue": issue_relation_projection.put_issue,
    "pull_request": issue_relation_projection.put_pull,
    "label": _label,
    "milestone": _milestone,
    "check_suite": check_suites.put,
    "check_run": check_run_projection.put,
    "rule_suite": rule_suites.put,
}
"""The functions for a payload's members, by name, in this order."""

EVENTS: dict[str, tuple[Of, ...]] = {
    "branch_protection_rule": (branch_protection_projection.changed,),
    "commit_comment": (commit_comments.put_reported, issue_comment_projection.commit_commented),
    "create": (pull_request_projection.branch_made,),
    "delete": (refs.deleted, pull_request_projection.branch_gone),
    "deployment": (pull_request_projection.deployed,),
    "issue_comment": (issue_comment_projection.commented,),
    "issue_dependencies": (issue_relation_projection.related,),
    "issues": (
        issues.record_event,
        issue_event_projection.of_issues,
        issue_field_projection.project,
    ),
    "label": (_label_event,),
    "milestone": (_milestone_event,),
    "pull_request": (issues.record_event, issue_event_projection.of_pulls),
    "pull_request_review": (issue_comment_projection.reviewed,),
    "pull_request_review_comment": (issue_comment_projection.line_commented,),
    "push": (refs.pushed, pull_request_projection.pushed),
    "secret_scanning_alert": (secret_alerts.record,),
    "star": (star_projection.starred,),
    "status": (commit_statuses.project,),
    "sub_issues": (issue_relation_projection.related,),
    "workflow_job": (workflow_projection.project_job,),
    "workflow_run": (workflow_projection.project_run,),
}
"""The functions for the rest of an event, by its name. They run after MEMBERS."""

PREPARED: dict[str, Callable[[dict[str, Any]], None]] = {
    "commit_comment": commit_comments.prepare,
}
"""The functions for work that is too slow for a transaction. They run on the payload before it."""


def project(db: Connection, event: Row, payload: dict[str, Any]) -> None:
    """Project an event. Parts that are not understood are ignored.

    `event` has id, name, action, repo_id, source_id and received_at. It gets `sender_id`, an
    account id or None, and `as_of`, the moment of the state in the payload.
    """
    event["as_of"] = event_moment.as_of(payload, event["received_at"])
    event["sender_id"] = placeholder_accounts.get_or_create(db, payload.get("sender"))
    placeholder_accounts.get_or_create(db, payload.get("organization"), organization=True)
    repo = repository_projection.find(db, event, payload)
    if repo is None:
        return
    for name, put in MEMBERS.items():
        given = payload_reader.read_object(payload, name)
        if given is not None:
            put(db, repo, given, event)
    for of in EVENTS.get(event["name"], ()):
        of(db, repo, payload, event)


def projected_events(db: Connection) -> Row:
    """Return a trusted event of this moment, for an operator's state document.

    No operation and no deletion counts as later.
    """
    return {
        "id": 0,
        "name": "",
        "action": None,
        "repo_id": 0,
        "source_id": sources.OPERATOR,
        "received_at": db.now,
        "as_of": LATEST,
        "sender_id": None,
    }
