"""Issues: creating and changing them. Pull requests are changed as issues, too."""

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.issues import issue_change_events, issue_rules, issue_serializers
from hub.api.issues.body_forms import FORMS
from hub.api.issues.issue_rules import (
    LABEL_CREATED,
    Body,
    LabelNames,
    Logins,
    MilestoneNumber,
    Title,
)
from hub.api.issues.issue_serializers import Issue
from hub.api.issues.text_and_state import change_state, change_texts
from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived, check_interaction
from hub.rest.validation import Text
from store import Row
from store.issues import issue_changes, issues
from store.issues.issue_changes import IssueChange
from store.repositories import author_association

ops = OperationGroup("issues", issue_number=issue_rules.find_issue)

CREATE = on_repo("issues", "write", public_scopes=("public_repo",))
CHANGE = issue_rules.WRITE.or_author()
CHANGES = ("assigned", "labeled", "milestoned")
EDITS = ("closed", "demilestoned", "edited", "reopened", "unassigned", "unlabeled")


class IssuePeople(TypedDict, total=False):
    """The assignees, labels and milestone of an issue. `assignee` is one user, for `assignees`.

    If `assignee` or `milestone` is empty or null, it stands for none. Without the role triage
    these members are left out.
    """

    assignee: Annotated[Text, MaxLen(200)] | None
    assignees: Logins
    milestone: MilestoneNumber
    labels: LabelNames


class NewIssue(IssuePeople):
    """An issue to create."""

    title: Title
    body: NotRequired[Body | None]


class IssueEdit(IssuePeople, total=False):
    """A change of an issue. Members that are not given stay.

    If the `state_reason` does not fit the state, it is ignored.
    """

    title: Title
    body: Body | None
    state: Literal["open", "closed"]
    state_reason: issues.StateReason | None


@ops(
    "POST /repos/{owner}/{repo}/issues",
    CREATE,
    status=201,
    errors=(410,),
    emits=("issues.opened", LABEL_CREATED, *(f"issues.{action}" for action in CHANGES)),
    created=True,
    **FORMS,
)
def create(ctx: Context, repo: Row, body: NewIssue) -> Issue:
    """Create an issue

    Assignees, labels and a milestone need the role triage and are left out otherwise. 403 if an
    interaction limit excludes the caller, 410 if the repository has no issues.
    """
    check_archived(repo)
    issue_rules.check_enabled(ctx.db, repo["id"])
    issue_rules.check_title(body["title"])
    author_id = ctx.required_caller.account_id
    check_interaction(ctx.db, repo, author_id)
    association = author_association.association_of(ctx.db, repo, author_id)
    fields = {
        "title": body["title"],
        "body": body.get("body"),
        "author_association": association,
    }
    row = issue_changes.create(ctx.db, repo, author_id, fields)
    changes = [IssueChange("opened"), *_assignments(ctx, repo, row, body)]
    return _emitted(ctx, repo, row, changes)


@ops(
    "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
    CHANGE,
    emits=(LABEL_CREATED, *issue_change_events.events(*CHANGES, *EDITS)),
    **FORMS,
)
def update(ctx: Context, repo: Row, issue: Row, body: IssueEdit) -> Issue:
    """Update an issue

    Also a pull request. Title and text are for the author and for those who may write. Without the
    role triage, assignees, labels and the milestone are left out.
    """
    row = issue_rules.opened(ctx, repo, issue)
    changes = change_texts(ctx, repo, row, body)
    changes += _assignments(ctx, repo, row, body)
    changes += change_state(ctx, repo, row, body)
    return _emitted(ctx, repo, row, changes)


def _assignments(ctx: Context, repo: Row, row: Row, body: Any) -> list[IssueChange]:
    """Change labels, assignees and milestone, if the caller may."""
    if not issue_rules.may(ctx, repo, "triage"):
        return []
    by = ctx.required_caller.account_id
    changes: list[IssueChange] = []
    if "milestone" in body:
        milestone = issue_rules.found_milestone(ctx, repo, body["milestone"])
        changes += issue_changes.set_milestone(ctx.db, row, by, milestone)
    if "labels" in body:
        found = issue_rules.named_labels(ctx, repo, body["labels"])
        changes += issue_changes.set_labels(ctx.db, row, by, found)
    logins = _logins(body)
    if logins is not None:
        ids = issue_rules.assignable_ids(ctx, repo, logins)
        changes += issue_changes.set_assignees(ctx.db, row, by, ids)
    return changes


def _logins(body: Any) -> list[str] | None:
    if "assignees" in body:
        given: list[str] = body["assignees"]
        return given
    if "assignee" in body:
        return [body["assignee"]] if body["assignee"] else []
    return None


def _emitted(ctx: Context, repo: Row, row: Row, changes: list[IssueChange]) -> Issue:
    now = issue_change_events.emit(ctx, repo, row["id"], changes)
    return issue_serializers.several(ctx.urls, ctx.db, repo, [now], ctx.media)[now["id"]]
