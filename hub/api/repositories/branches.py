"""Branches and tags, as pushes and state documents have reported them."""

from typing_extensions import TypedDict

from hub.api.repositories import branch_serializers
from hub.api.repositories.branch_serializers import Branch, ShortBranch, Tag
from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.repositories import branch_protection, refs

ops = OperationGroup("repos", branch=refs.branch)

READ = on_repo("contents", "read").or_anyone()
READ_TAGS = on_repo("metadata", "read").or_anyone()


class BranchQuery(TypedDict, total=False):
    protected: bool


@ops("GET /repos/{owner}/{repo}/branches", READ, errors=(404,))
def list_branches(
    ctx: Context, repo: Row, page: NumberedPaging, query: BranchQuery
) -> list[ShortBranch]:
    """List branches

    `protected` says whether a rule of the platform protects the branch, as its events reported.
    """
    patterns = branch_protection.patterns(ctx.db, repo["id"])
    wanted = query.get("protected")
    if wanted is None:
        page.total = refs.count(ctx.db, repo["id"], refs.BRANCHES)
        rows = refs.page(ctx.db, repo["id"], refs.BRANCHES, **page.bounds)
    else:
        chosen = [
            name
            for name in refs.names(ctx.db, repo["id"], refs.BRANCHES)
            if branch_protection.protects(patterns, name.removeprefix(refs.BRANCHES)) == wanted
        ]
        page.total = len(chosen)
        shown = chosen[page.offset : page.offset + page.limit]
        rows = refs.several(ctx.db, repo["id"], shown)
    return [branch_serializers.short_branch(ctx.urls, repo, row, patterns) for row in rows]


@ops("GET /repos/{owner}/{repo}/branches/{branch}", READ)
def get_branch(ctx: Context, repo: Row, branch: Row) -> Branch:
    """Get a branch

    Its commit is shown as the push described it. If no push did, the commit's message and the SHA
    of its tree are empty.
    """
    return branch_serializers.branch(ctx.urls, ctx.db, repo, branch)


@ops("GET /repos/{owner}/{repo}/tags", READ_TAGS)
def list_tags(ctx: Context, repo: Row, page: NumberedPaging) -> list[Tag]:
    """List repository tags"""
    page.total = refs.count(ctx.db, repo["id"], refs.TAGS)
    rows = refs.page(ctx.db, repo["id"], refs.TAGS, **page.bounds)
    return [branch_serializers.tag(ctx.urls, repo, row) for row in rows]
