"""Commit comments (group 6): comments on a commit, a file or a line."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, cast

from annotated_types import Ge, Le, MaxLen
from typing_extensions import TypedDict

from hub.api.repositories.commit_comment_serializers import CommitComment, several
from hub.auth.repository_access import on_repo
from hub.rest import commit_lookup
from hub.rest.context import Context, Services
from hub.rest.event_payloads import sent_by
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived, check_interaction, check_text
from hub.rest.operation import Forms
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import DetailedRepository
from hub.rest.resolve import text
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts
from store.delivery.outbox import SnapshotEvent
from store.issues import commit_comments
from store.projection import issue_comment_projection
from store.repositories import author_association
from store.repositories.markdown import RenderedText

ops = OperationGroup("repos", comment_id=commit_comments.get, commit_sha=text)

READ = on_repo("metadata", "read").or_anyone()
COMMENT = on_repo("contents", "read", public_scopes=("public_repo",))
CHANGE = on_repo("contents", "write", role="write", public_scopes=("public_repo",)).or_author()
FORMS: Forms = {"media": ("raw", "text", "html", "full"), "family": "commitcomment"}

Line = Annotated[int, Ge(0), Le(2**31 - 1)]


class CommitCommentText(TypedDict):
    body: Annotated[Text, MaxLen(commit_comments.MOST_BODY)]


class NewCommitComment(CommitCommentText):
    """A new comment. Clients send null for what a comment on the whole commit does not have."""

    path: NotRequired[Annotated[Text, MaxLen(commit_comments.MOST_PATH)] | None]
    position: NotRequired[Line | None]
    line: NotRequired[Line | None]


class RenderedCommitComment(CommitCommentText):
    rendered: RenderedText


class CommitCommentChange(TypedDict):
    action: Literal["edited", "deleted"]
    comment: CommitComment
    repository: DetailedRepository
    organization: NotRequired[OrganizationSimple]
    sender: SimpleUser | None


ops.declare_events(commit_comment_change=CommitCommentChange)


async def render(services: Services, body: CommitCommentText) -> None:
    """Render the text before the transaction, so that other writers do not wait for it.

    Raises Invalid if it is empty.
    """
    check_text(body["body"], "CommitComment")
    cast("RenderedCommitComment", body)["rendered"] = await asyncio.to_thread(
        RenderedText, body["body"]
    )


@ops("GET /repos/{owner}/{repo}/comments", READ, **FORMS)
def list_commit_comments_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging
) -> list[CommitComment]:
    """List commit comments for a repository

    The oldest first.
    """
    return _page(ctx, repo, page)


@ops("GET /repos/{owner}/{repo}/comments/{comment_id}", READ, **FORMS)
def get_commit_comment(ctx: Context, repo: Row, comment: Row) -> CommitComment:
    """Get a commit comment

    A comment that a platform reported is also found by its id on that platform.
    """
    # The response shows the author, too. Nothing records when an author was removed.
    author_id = comment["author_id"]
    author = None if author_id is None else accounts.get(ctx.db, author_id)
    if author is not None:
        ctx.last_modified = max(comment["updated_at"], author["updated_at"])
    return _one(ctx, repo, comment)


@ops(
    "PATCH /repos/{owner}/{repo}/comments/{comment_id}",
    CHANGE,
    before=render,
    emits=("commit_comment_change.edited",),
    **FORMS,
)
def update_commit_comment(
    ctx: Context, repo: Row, comment: Row, body: CommitCommentText
) -> CommitComment:
    """Update a commit comment"""
    check_archived(repo)
    if comment["body"] == body["body"]:
        return _one(ctx, repo, comment)
    row = commit_comments.update(ctx.db, comment, cast("RenderedCommitComment", body)["rendered"])
    ctx.emit("commit_comment_change.edited", repo, comment=_event_comment(ctx, repo, row))
    return _one(ctx, repo, row)


@ops(
    "DELETE /repos/{owner}/{repo}/comments/{comment_id}",
    CHANGE,
    emits=("commit_comment_change.deleted",),
)
def delete_commit_comment(ctx: Context, repo: Row, comment: Row) -> None:
    """Delete a commit comment"""
    check_archived(repo)
    issue_comment_projection.unpin(ctx.db, comment)
    commit_comments.delete(ctx.db, comment)
    ctx.emit("commit_comment_change.deleted", repo, comment=_event_comment(ctx, repo, comment))


@ops("GET /repos/{owner}/{repo}/commits/{commit_sha}/comments", READ, errors=(422,), **FORMS)
def list_comments_for_commit(
    ctx: Context, repo: Row, commit_sha: str, page: NumberedPaging
) -> list[CommitComment]:
    """List commit comments

    The comments on one commit, given by its full SHA, a branch or a tag. The oldest first.
    """
    return _page(ctx, repo, page, commit_lookup.find_commit(ctx.db, repo, commit_sha))


@ops(
    "POST /repos/{owner}/{repo}/commits/{commit_sha}/comments",
    COMMENT,
    status=201,
    before=render,
    emits=("commit_comment.created",),
    created=True,
    **FORMS,
)
def create_commit_comment(
    ctx: Context, repo: Row, commit_sha: str, body: NewCommitComment
) -> CommitComment:
    """Create a commit comment

    The commit is given by its full SHA, a branch or a tag. A full SHA need not be known here.
    """
    author_id = ctx.required_caller.account_id
    check_archived(repo)
    check_interaction(ctx.db, repo, author_id)
    row = commit_comments.create(
        ctx.db,
        repo["id"],
        author_id,
        commit_lookup.find_commit(ctx.db, repo, commit_sha),
        cast("RenderedCommitComment", body)["rendered"],
        association=author_association.association_of(ctx.db, repo, author_id),
        path=body.get("path"),
        position=body.get("position"),
        line=body.get("line"),
    )
    issue_comment_projection.pin(ctx.db, repo, row)
    ctx.emit("commit_comment.created", repo, comment=_event_comment(ctx, repo, row))
    return _one(ctx, repo, row)


def _page(
    ctx: Context, repo: Row, page: NumberedPaging, commit_id: str | None = None
) -> list[CommitComment]:
    page.count(
        lambda most: commit_comments.count(ctx.db, repo["id"], most=most, commit_id=commit_id)
    )
    rows = commit_comments.page(ctx.db, repo["id"], **page.bounds, commit_id=commit_id)
    return several(ctx.urls, ctx.db, repo, rows, ctx.media)


def _one(ctx: Context, repo: Row, row: Row) -> CommitComment:
    return several(ctx.urls, ctx.db, repo, [row], ctx.media)[0]


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    return [
        SnapshotEvent("commit_comment.created", repo["id"], {"comment": one} | sent_by(one["user"]))
        for one in several(urls, db, repo, rows)
    ]


def _event_comment(ctx: Context, repo: Row, row: Row) -> CommitComment:
    return several(ctx.urls, ctx.db, repo, [row])[0]


ops.declare_snapshots(commit_comment=_snapshot)
