"""Git references: branches and tags by their full names."""

from hub.api.repositories import branch_serializers
from hub.api.repositories.branch_serializers import GitRef
from hub.auth.repository_access import on_repo
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.resolve import text
from store import Row
from store.errors import Conflict, Missing
from store.repositories import refs

ops = OperationGroup("git", ref=text)

READ = on_repo("contents", "read").or_anyone()
EMPTY = "Git Repository is empty."


@ops("GET /repos/{owner}/{repo}/git/ref/{ref}", READ, errors=(404, 409))
def get_ref(ctx: Context, repo: Row, ref: str) -> GitRef:
    """Get a reference

    `ref` is `heads/` and a branch or `tags/` and a tag. 409 if the repository has neither.
    """
    row = refs.get(ctx.db, repo["id"], _full(ref))
    if row is None:
        _check_filled(ctx, repo)
        raise Missing("reference")
    return branch_serializers.git_ref(ctx.urls, repo, row)


@ops("GET /repos/{owner}/{repo}/git/matching-refs/{ref}", READ, errors=(409,))
def list_matching_refs(ctx: Context, repo: Row, ref: str) -> list[GitRef]:
    """List matching references

    All whose names begin so; an empty `ref` lists all. 409 if the repository has none.
    """
    rows = refs.page(ctx.db, repo["id"], _full(ref))
    if not rows:
        _check_filled(ctx, repo)
    return [branch_serializers.git_ref(ctx.urls, repo, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/git/refs", READ, errors=(409,))
def list_refs(ctx: Context, repo: Row, page: NumberedPaging) -> list[GitRef]:
    """List references

    All branches and tags, by their full names. 409 if the repository has none.
    """
    page.total = sum(refs.count(ctx.db, repo["id"], kind) for kind in (refs.BRANCHES, refs.TAGS))
    if not page.total:
        raise Conflict(EMPTY)
    rows = refs.page(ctx.db, repo["id"], "refs/", **page.bounds)
    return [branch_serializers.git_ref(ctx.urls, repo, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/git/refs/{ref}", READ, errors=(404, 409))
def get_refs(ctx: Context, repo: Row, ref: str) -> GitRef | list[GitRef]:
    """Get a reference or the references that begin so

    The older form: the reference with this name or, if there is none, all whose names begin so.
    404 if there are none either.
    """
    row = refs.get(ctx.db, repo["id"], _full(ref))
    if row is not None:
        return branch_serializers.git_ref(ctx.urls, repo, row)
    found = list_matching_refs(ctx, repo, ref)
    if not found:
        raise Missing("reference")
    return found


def _full(ref: str) -> str:
    return f"refs/{ref.removeprefix('refs/')}"


def _check_filled(ctx: Context, repo: Row) -> None:
    if not refs.count(ctx.db, repo["id"], "refs/"):
        raise Conflict(EMPTY)
