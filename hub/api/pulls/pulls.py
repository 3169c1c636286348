"""Pull requests: their list and each single one."""

from typing import Annotated, Literal

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.issues.body_forms import FORMS
from hub.api.pulls import pull_serializers
from hub.api.pulls.pull_rules import READ
from hub.api.pulls.pull_serializers import PullRequest, PullRequestSimple
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.clock import DAY
from store.errors import Invalid, Missing
from store.issues import pull_queries, pulls
from store.issues.pull_queries import PullFilter

ops = OperationGroup("pulls", pull_number=pulls.get)

MONTH = 30 * DAY

Branch = Annotated[Text, MaxLen(512)]


class PullQuery(TypedDict, total=False):
    """A filter of pull requests.

    `head` is `user:branch` or `organization:branch`, `base` a branch. `popularity` is the number of
    comments. `long-running` lists those that are older than a month and were updated since.
    """

    state: Literal["open", "closed", "all"]
    head: Branch
    base: Branch
    sort: Literal["created", "updated", "popularity", "long-running"]
    direction: Literal["asc", "desc"]


@ops("GET /repos/{owner}/{repo}/pulls", READ, errors=(422,), **FORMS)
def list_(
    ctx: Context, repo: Row, page: NumberedPaging, query: PullQuery
) -> list[PullRequestSimple]:
    """List pull requests

    Without a filter, the open ones, the newest first. Members that no event has reported are null,
    empty, false or 0.
    """
    chosen = _chosen(ctx, query)
    page.count(lambda most: pull_queries.count(ctx.db, repo["id"], chosen, most))
    rows = pull_queries.page(ctx.db, repo["id"], chosen, **page.bounds)
    return [pull_serializers.simple(one) for one in pull_serializers.for_caller(ctx, repo, rows)]


@ops("GET /repos/{owner}/{repo}/pulls/{pull_number}", READ, errors=(410,), **FORMS)
def get(ctx: Context, repo: Row, pull: Row) -> PullRequest:
    """Get a pull request

    Members that no event has reported are null, empty, false or 0. The diff is not known here
    (406).
    """
    (one,) = pull_serializers.for_caller(ctx, repo, [pull])
    return one


@ops("GET /repos/{owner}/{repo}/pulls/{pull_number}/merge", READ, errors=(410,))
def check_if_merged(ctx: Context, repo: Row, pull: Row) -> None:
    """Check if a pull request has been merged

    404 if it has not been merged, or no event has reported that.
    """
    known = pulls.of_issues(ctx.db, [pull["id"]]).get(pull["id"], {})
    if known.get("merged_at") is None:
        raise Missing("merge")


def _chosen(ctx: Context, query: PullQuery) -> PullFilter:
    state, sort = query.get("state", "open"), query.get("sort", "created")
    usual = "desc" if sort == "created" else "asc"
    long_running = sort == "long-running"
    return PullFilter(
        state=None if state == "all" else state,
        head=_head(query["head"]) if "head" in query else None,
        base=query.get("base"),
        sort=sort,
        ascending=query.get("direction", usual) == "asc",
        month_ago=ctx.now - MONTH if long_running else None,
    )


def _head(given: str) -> tuple[str, str]:
    owner, colon, branch = given.partition(":")
    if not colon:
        raise Invalid("head: use 'owner:branch'", field="head", resource="PullRequest")
    return owner, branch
