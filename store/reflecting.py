"""From ingested events to state: which of a payload's objects goes where.

An event may change its repository's state, and make accounts known; nobody gets or loses a right
by one. See `store.foreign_repositories` for who is believed what.
"""

from collections.abc import Callable
from typing import Any

from store import (
    check_runs_told,
    check_suites,
    commit_comments,
    foreign,
    foreign_repositories,
    issue_field_telling,
    issue_history,
    issue_relations,
    issue_talk,
    issues,
    labels,
    milestones,
    pull_history,
    pulls,
    refs,
    rule_suites,
    secret_alerts,
    strangers,
    workflow_events,
)
from store.connection import Connection, Row

# In place of a source's id, and above all of them.
OPERATOR = 2**62

Put = Callable[[Connection, Row, dict[str, Any], Row], Any]
"""Takes up one object: `put(db, repository, object, event)`."""
Of = Callable[[Connection, Row, dict[str, Any], Row], Any]
"""Takes up what an event says as a whole: `of(db, repository, payload, event)`."""


def _label(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    # A label is taken off its issues after it was deleted: that must not bring it back.
    if event["action"] not in ("deleted", "unlabeled"):
        labels.put(db, repo, given, event)


def _milestone(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> None:
    if event["action"] not in ("deleted", "demilestoned"):
        milestones.put(db, repo, given, event)


def _label_event(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    name = foreign.one(foreign.part(payload, "label") or {}, "name", foreign.text(255))
    if event["action"] == "deleted" and name is not None:
        labels.delete(db, repo["id"], name)


def _milestone_event(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    told = foreign.part(payload, "milestone") or {}
    number = foreign.one(told, "number", foreign.number)
    if event["action"] == "deleted" and number is not None:
        milestones.delete(db, repo["id"], number)


MEMBERS: dict[str, Put] = {
    "repository": foreign_repositories.put,
    "label": _label,
    "milestone": _milestone,
    "issue": issues.put,
    "pull_request": pulls.put,
    "check_suite": check_suites.put,
    "check_run": check_runs_told.put,
    "rule_suite": rule_suites.put,
}
"""A payload's member, by its name, in this order."""

EVENTS: dict[str, tuple[Of, ...]] = {
    "commit_comment": (commit_comments.told, issue_talk.commit_commented),
    "create": (pull_history.branch_made,),
    "delete": (refs.deleted, pull_history.branch_gone),
    "deployment": (pull_history.deployed,),
    "issue_comment": (issue_talk.commented,),
    "issue_dependencies": (issue_relations.related,),
    "issues": (issues.happened, issue_history.of_issues, issue_field_telling.told),
    "label": (_label_event,),
    "milestone": (_milestone_event,),
    "pull_request": (issue_history.of_pulls,),
    "pull_request_review": (issue_talk.reviewed,),
    "pull_request_review_comment": (issue_talk.line_commented,),
    "push": (refs.pushed, pull_history.pushed),
    "secret_scanning_alert": (secret_alerts.happened,),
    "sub_issues": (issue_relations.related,),
    "workflow_job": (workflow_events.job_told,),
    "workflow_run": (workflow_events.run_told,),
}
"""What an event says beyond its objects, by its name; after them."""

PREPARED: dict[str, Callable[[dict[str, Any]], None]] = {
    "commit_comment": commit_comments.prepare,
}
"""What takes too long for a transaction is done to an event's payload before, by its name."""


def reflect(db: Connection, event: Row, payload: dict[str, Any]) -> None:
    """Take up an event: `event` has id, name, action, repo_id, source_id and received_at, and gets
    `sender_id`, an account or None.

    What is not understood is passed over.
    """
    event["sender_id"] = strangers.meet(db, payload.get("sender"))
    strangers.meet(db, payload.get("organization"), organization=True)
    repo = foreign_repositories.find(db, event, payload)
    if repo is None:
        return
    for name, put in MEMBERS.items():
        given = foreign.part(payload, name)
        if given is not None:
            put(db, repo, given, event)
    for of in EVENTS.get(event["name"], ()):
        of(db, repo, payload, event)


def stated(db: Connection) -> Row:
    """What stands for the event where an operator states something: now, and to be believed."""
    return {
        "id": 0,
        "name": "",
        "action": None,
        "repo_id": 0,
        "source_id": OPERATOR,
        "received_at": db.now,
        "sender_id": None,
    }
