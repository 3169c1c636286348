"""Labels of a repository, and the labels on an issue."""

from hub.api.issues import issue_part_serializers
from hub.api.issues.issue_part_serializers import Label
from hub.api.issues.issue_rules import READ
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.issues import issues, labels

ops = OperationGroup("issues", name=labels.by_name, issue_number=issues.get)


@ops("GET /repos/{owner}/{repo}/labels", READ)
def list_labels_for_repo(ctx: Context, repo: Row, page: NumberedPaging) -> list[Label]:
    """List labels for a repository

    By name.
    """
    page.count(lambda most: labels.count(ctx.db, repo["id"], most))
    rows = labels.page(ctx.db, repo["id"], **page.bounds)
    return [issue_part_serializers.label(ctx.urls, repo, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/labels/{name}", READ)
def get_label(ctx: Context, repo: Row, name: Row) -> Label:
    """Get a label

    Its name in any case.
    """
    return issue_part_serializers.label(ctx.urls, repo, name)


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/labels", READ)
def list_labels_on_issue(ctx: Context, repo: Row, issue: Row, page: NumberedPaging) -> list[Label]:
    """List labels for an issue

    By name.
    """
    page.total = labels.count_on_issue(ctx.db, issue["id"])
    rows = labels.page_on_issue(ctx.db, issue, total=page.total, **page.bounds)
    return [issue_part_serializers.label(ctx.urls, repo, row) for row in rows]
