"""Changes of what issues and pull requests have in common: title, text and state."""

from collections.abc import Mapping
from typing import Any

from hub.api.issues import issue_rules
from hub.http.errors import Forbidden
from hub.rest.context import Context
from hub.rest.interaction_check import check_pull_request_cap
from store import Row
from store.errors import Invalid
from store.issues import issue_changes, issues, pull_changes, pulls
from store.issues.issue_changes import IssueChange


def change_texts(ctx: Context, repo: Row, row: Row, body: Mapping[str, Any]) -> list[IssueChange]:
    """Change the title and the text. Raises Forbidden if the caller may not."""
    texts: dict[str, str | None] = {}
    if "title" in body:
        issue_rules.check_title(body["title"])
        texts["title"] = body["title"]
    if "body" in body:
        texts["body"] = body["body"]
    by = ctx.required_caller.account_id
    if texts and row["author_id"] != by and not issue_rules.may(ctx, repo, "write"):
        noun = "pull request" if row["is_pull"] else "issue"
        raise Forbidden(f"Must have push access to edit the title or body of this {noun}.")
    return issue_changes.set_texts(ctx.db, repo, row, by, texts)


def change_state(ctx: Context, repo: Row, row: Row, body: Mapping[str, Any]) -> list[IssueChange]:
    """Close or reopen. Raises Forbidden or Invalid if a pull request cannot be reopened."""
    if "state" not in body and body.get("state_reason") is None:
        return []
    # An earlier step of this request may have changed the milestone, whose counts this changes.
    row = issues.of(ctx.db, [row["id"]])[row["id"]]
    state, reason = body.get("state", row["state"]), body.get("state_reason")
    if row["is_pull"] and state == "open" and row["state"] == "closed":
        _check_reopening(ctx, repo, row)
    return issue_changes.set_state(ctx.db, row, ctx.required_caller.account_id, state, reason)


def _check_reopening(ctx: Context, repo: Row, pull: Row) -> None:
    """Check that a pull request can be reopened. Raises Forbidden or Invalid if not."""
    known = pulls.of_issues(ctx.db, [pull["id"]]).get(pull["id"], {})
    if known.get("merged_at") is not None:
        raise Invalid(
            "A merged pull request cannot be reopened.", field="state", resource="PullRequest"
        )
    head = known.get("head_repo"), known.get("head_ref")
    check_no_other_open(ctx, repo, head, known.get("base_ref"), "state")
    if pull["author_id"] == ctx.required_caller.account_id:
        check_pull_request_cap(ctx.db, repo, pull["author_id"])


def check_no_other_open(
    ctx: Context, repo: Row, head: tuple[str | None, str | None], base: str | None, field: str
) -> None:
    """Check that no pull request from a branch of a repository (its name) to `base` is open.

    Raises Invalid for this field if there is one. A platform may not have reported all three names.
    """
    full_name, branch = head
    if full_name is None or branch is None or base is None:
        return
    if pull_changes.open_between(ctx.db, repo, (full_name, branch), base):
        label = f"{full_name.partition('/')[0]}:{branch}"
        raise Invalid(
            f"A pull request already exists for {label}.",
            field=field,
            code="custom",
            resource="PullRequest",
        )
