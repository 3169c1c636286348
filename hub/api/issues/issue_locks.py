"""Locks on the conversations of issues and pull requests."""

from typing import Literal

from typing_extensions import TypedDict

from hub.api.issues import issue_change_events, issue_rules
from hub.api.issues.issue_rules import MANAGE
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from store import Row
from store.issues import issue_changes

ops = OperationGroup("issues", issue_number=issue_rules.find_issue)


class LockReason(TypedDict, total=False):
    """The reason for a lock, which everybody sees."""

    lock_reason: Literal["off-topic", "too heated", "resolved", "spam"] | None


@ops(
    "PUT /repos/{owner}/{repo}/issues/{issue_number}/lock",
    MANAGE,
    emits=issue_change_events.events("locked"),
)
def lock(ctx: Context, repo: Row, issue: Row, body: LockReason) -> None:
    """Lock an issue

    Also a pull request. Only users who may write can then comment.
    """
    _set(ctx, repo, issue, locked=True, reason=body.get("lock_reason"))


@ops(
    "DELETE /repos/{owner}/{repo}/issues/{issue_number}/lock",
    MANAGE,
    emits=issue_change_events.events("unlocked"),
)
def unlock(ctx: Context, repo: Row, issue: Row) -> None:
    """Unlock an issue"""
    _set(ctx, repo, issue, locked=False)


def _set(ctx: Context, repo: Row, issue: Row, *, locked: bool, reason: str | None = None) -> None:
    row = issue_rules.opened(ctx, repo, issue)
    by = ctx.required_caller.account_id
    changes = issue_changes.set_lock(ctx.db, row, by, locked=locked, reason=reason)
    issue_change_events.emit(ctx, repo, row["id"], changes)
