"""Check suites: all checks of one commit by one app."""

from typing import Annotated

from annotated_types import Ge, Le, MaxLen
from typing_extensions import TypedDict

from hub.api.checks import check_serializers
from hub.api.checks.check_serializers import WholeCheckSuite
from hub.auth.repository_access import on_repo
from hub.rest import commit_lookup
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.resolve import text
from hub.rest.validation import Digits, Text
from store import Row
from store.checks import check_suites
from store.checks.check_suites import SuiteFilter

ops = OperationGroup("checks", check_suite_id=check_suites.get, ref=text)

READ = on_repo("checks", "read").or_anyone()


class SuiteQuery(TypedDict, total=False):
    """A filter of check suites: of an app, or with a run of this name."""

    app_id: Annotated[int, Ge(0), Le(2**63 - 1), Digits]
    check_name: Annotated[Text, MaxLen(255)]


class CheckSuites(TypedDict):
    total_count: int
    check_suites: list[WholeCheckSuite]


@ops("GET /repos/{owner}/{repo}/check-suites/{check_suite_id}", READ)
def get_suite(ctx: Context, repo: Row, check_suite: Row) -> WholeCheckSuite:
    """Get a check suite"""
    (shown,) = check_serializers.whole_check_suites(ctx.urls, ctx.db, repo, [check_suite])
    return shown


@ops("GET /repos/{owner}/{repo}/commits/{ref}/check-suites", READ, errors=(422,))
def list_suites_for_ref(
    ctx: Context, repo: Row, ref: str, page: NumberedPaging, query: SuiteQuery
) -> CheckSuites:
    """List check suites for a Git reference

    The suites of the commit that `ref` stands for: a full SHA, a branch or a tag. 422 for an
    unknown name.
    """
    sha = commit_lookup.find_commit(ctx.db, repo, ref)
    chosen = SuiteFilter(query.get("app_id"), query.get("check_name"))
    page.total = check_suites.count(ctx.db, repo["id"], sha, chosen)
    rows = check_suites.page(ctx.db, repo["id"], sha, chosen, **page.bounds)
    return {
        "total_count": page.total,
        "check_suites": check_serializers.whole_check_suites(ctx.urls, ctx.db, repo, rows),
    }
