"""Issues: their list and each single one. Pull requests are issues too."""

from typing import Annotated, Literal

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.issues import issue_serializers
from hub.api.issues.body_forms import FORMS
from hub.api.issues.issue_rules import ISSUES, READ, check_enabled, find_issue
from hub.api.issues.issue_serializers import Issue
from hub.http.numbers import natural
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Moment, Text
from store import Row
from store.errors import Invalid
from store.issues import issue_queries
from store.issues.issue_queries import ANY, NONE, IssueFilter

ops = OperationGroup("issues", issue_number=find_issue)

Short = Annotated[Text, MaxLen(255)]
List = Annotated[Text, MaxLen(4_096)]
MOST_NAMES = 100
"""How many labels, or values of issue fields, one filter may name."""


class IssueQuery(TypedDict, total=False):
    """A filter of issues.

    `milestone` is a number, `*` for any or `none`; `assignee` and `type` are a name, `*` or `none`.
    `labels` are separated by commas, and an issue must have all of them. `issue_field_values` are
    pairs `field:value`, separated by commas, of fields that everybody may see.
    """

    milestone: Short
    state: Literal["open", "closed", "all"]
    assignee: Short
    type: Short
    creator: Short
    mentioned: Short
    issue_field_values: List
    labels: List
    sort: Literal["created", "updated", "comments"]
    direction: Literal["asc", "desc"]
    since: Moment


@ops("GET /repos/{owner}/{repo}/issues", ISSUES, errors=(410, 422), **FORMS)
def list_for_repo(ctx: Context, repo: Row, page: NumberedPaging, query: IssueQuery) -> list[Issue]:
    """List repository issues

    Issues and pull requests, which have the member `pull_request`. Without a filter, the open ones,
    the newest first. 410 if the repository has no issues.
    """
    check_enabled(ctx.db, repo["id"])
    chosen = _chosen(query)
    page.count(lambda most: issue_queries.count(ctx.db, repo["id"], chosen, most))
    rows = issue_queries.page(ctx.db, repo["id"], chosen, **page.bounds)
    return [*issue_serializers.several(ctx.urls, ctx.db, repo, rows, ctx.media).values()]


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}", READ, **FORMS)
def get(ctx: Context, repo: Row, issue: Row) -> Issue:
    """Get an issue

    An issue or a pull request. 301 if it was moved to another repository, 410 if it was deleted or
    if the repository's issues are switched off.
    """
    return issue_serializers.several(ctx.urls, ctx.db, repo, [issue], ctx.media)[issue["id"]]


def _chosen(query: IssueQuery) -> IssueFilter:
    state = query.get("state", "open")
    return IssueFilter(
        state=None if state == "all" else state,
        assignee=query.get("assignee"),
        creator=query.get("creator"),
        mentioned=query.get("mentioned"),
        type=query.get("type"),
        milestone=_milestone(query.get("milestone")),
        labels=_names(query.get("labels", ""), "labels"),
        fields=_fields(query.get("issue_field_values", "")),
        since=query.get("since"),
        sort=query.get("sort", "created"),
        ascending=query.get("direction") == "asc",
    )


def _milestone(given: str | None) -> int | str | None:
    if given is None or given in (ANY, NONE):
        return given
    number = natural(given)
    if number is None:
        raise _wrong("milestone", "use the number of a milestone, '*' or 'none'")
    return number


def _names(given: str, field: str) -> list[str]:
    found = [name.strip() for name in given.split(",") if name.strip()]
    if len(found) > MOST_NAMES:
        raise _wrong(field, f"use at most {MOST_NAMES}")
    return found


def _fields(given: str) -> list[tuple[str, str]]:
    found = []
    for pair in _names(given, "issue_field_values"):
        name, colon, value = pair.partition(":")
        if not colon:
            raise _wrong("issue_field_values", "use 'field:value', separated by commas")
        found.append((name.strip(), value.strip()))
    return found


def _wrong(field: str, what: str) -> Invalid:
    return Invalid(f"{field}: {what}", field=field, resource="Issue")
