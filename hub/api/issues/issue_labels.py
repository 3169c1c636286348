"""Labels on issues and pull requests: adding, setting and removing."""

from typing_extensions import TypedDict

from hub.api.issues import issue_change_events, issue_part_serializers, issue_rules
from hub.api.issues.issue_part_serializers import Label
from hub.api.issues.issue_rules import LABEL_CREATED, WRITE, LabelNames
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from store import Row
from store.issues import issue_changes, labels

ops = OperationGroup("issues", issue_number=issue_rules.find_issue, name=labels.on_issue)

LABELED = (LABEL_CREATED, *issue_change_events.events("labeled"))
UNLABELED = issue_change_events.events("unlabeled")


class LabelsBody(TypedDict, total=False):
    """Labels by name. Unknown ones are created if the caller may write."""

    labels: LabelNames


@ops(
    "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
    WRITE,
    emits=LABELED,
    created=True,
)
def add_labels(ctx: Context, repo: Row, issue: Row, body: LabelsBody | LabelNames) -> list[Label]:
    """Add labels to an issue

    Returns all labels on it. Unknown labels are created if the caller may write.
    """
    row = issue_rules.opened(ctx, repo, issue)
    held = labels.of_issues(ctx.db, [row["id"]]).get(row["id"], [])
    return _set(ctx, repo, row, [*held, *_named(ctx, repo, body)])


@ops(
    "PUT /repos/{owner}/{repo}/issues/{issue_number}/labels",
    WRITE,
    emits=(*LABELED, *UNLABELED),
    created=True,
)
def set_labels(ctx: Context, repo: Row, issue: Row, body: LabelsBody | LabelNames) -> list[Label]:
    """Set labels for an issue

    Replaces all labels on it. Unknown labels are created if the caller may write.
    """
    row = issue_rules.opened(ctx, repo, issue)
    return _set(ctx, repo, row, _named(ctx, repo, body))


@ops("DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels", WRITE, emits=UNLABELED)
def remove_all_labels(ctx: Context, repo: Row, issue: Row) -> None:
    """Remove all labels from an issue"""
    _set(ctx, repo, issue_rules.opened(ctx, repo, issue), [])


@ops("DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}", WRITE, emits=UNLABELED)
def remove_label(ctx: Context, repo: Row, issue: Row, name: Row) -> list[Label]:
    """Remove a label from an issue

    Returns the labels that stay. 404 if the label is not on the issue.
    """
    row = issue_rules.opened(ctx, repo, issue)
    held = labels.of_issues(ctx.db, [row["id"]]).get(row["id"], [])
    return _set(ctx, repo, row, [one for one in held if one["id"] != name["id"]])


def _named(ctx: Context, repo: Row, body: LabelsBody | LabelNames) -> list[Row]:
    given = body if isinstance(body, list) else body.get("labels", [])
    return issue_rules.named_labels(ctx, repo, given)


def _set(ctx: Context, repo: Row, issue: Row, wanted: list[Row]) -> list[Label]:
    by = ctx.required_caller.account_id
    known = {row["id"]: row for row in wanted}
    issue_rules.check_labels([*known])
    changes = issue_changes.set_labels(ctx.db, issue, by, known.values())
    issue_change_events.emit(ctx, repo, issue["id"], changes)
    rows = labels.of_issues(ctx.db, [issue["id"]]).get(issue["id"], [])
    return [issue_part_serializers.label(ctx.urls, repo, row) for row in rows]
