"""Events about changes of issues and pull requests made through the API."""

from collections.abc import Mapping, Sequence
from typing import Any

from hub.api.issues import issue_part_serializers, issue_serializers
from hub.api.pulls import pull_serializers
from hub.api.pulls.pull_relations import RepositoriesSerializer
from hub.rest import organization_serializers, repository_serializers
from hub.rest.context import Context
from hub.rest.serializers import simple_users
from store import Row
from store.accounts import accounts
from store.issues import issues, milestones
from store.issues.issue_changes import IssueChange


def events(*actions: str) -> tuple[str, ...]:
    """Return the names of the events with these actions, of issues and of pull requests."""
    return tuple(f"{name}.{action}" for action in actions for name in ("issues", "pull_request"))


def emit(ctx: Context, repo: Row, issue_id: int, changes: Sequence[IssueChange]) -> Row:
    """Emit an event for each change of an issue. Return the issue as it is now."""
    row = issues.of(ctx.db, [issue_id])[issue_id]
    if changes:
        name = "pull_request" if row["is_pull"] else "issues"
        shown = about(ctx, repo, row)
        for change in changes:
            members = _members(ctx, repo, change)
            ctx.emit(f"{name}.{change.action}", repo, **shown, **members)
    return row


def about(ctx: Context, repo: Row, row: Row) -> dict[str, Any]:
    """Return the payload's members about an issue or a pull request, and its organization."""
    if row["is_pull"]:
        shown = pull_serializers.several(ctx.urls, ctx.db, repo, [row], _repositories(ctx))
        found = {"number": row["number"], "pull_request": shown[row["id"]]}
    else:
        found = {"issue": issue_serializers.several(ctx.urls, ctx.db, repo, [row])[row["id"]]}
    return found | organization(ctx, repo)


def _repositories(ctx: Context) -> RepositoriesSerializer:
    def serialize_repositories(rows: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
        return repository_serializers.detailed(ctx.urls, ctx.db, rows)

    return serialize_repositories


def organization(ctx: Context, repo: Row) -> dict[str, Any]:
    """Return the payload's member `organization`; empty if a user owns the repository."""
    if repo["owner_kind"] != "Organization":
        return {}
    owner = accounts.required(ctx.db, repo["owner_id"])
    return {"organization": organization_serializers.organization(ctx.urls, owner)}


def _members(ctx: Context, repo: Row, change: IssueChange) -> dict[str, Any]:
    """Return the members that only this action has."""
    subject = change.subject
    if change.action == "edited":
        # Receivers expect a string also if there was no text.
        return {"changes": {name: {"from": text or ""} for name, text in change.before.items()}}
    if isinstance(subject, int):
        return {"assignee": simple_users(ctx.urls, ctx.db, [subject]).get(subject)}
    if subject is None:
        return {}
    if change.action in ("labeled", "unlabeled"):
        return {"label": issue_part_serializers.label(ctx.urls, repo, subject)}
    # The changes of the issue have changed the counts of the milestone.
    row = milestones.of(ctx.db, [subject["id"]])[subject["id"]]
    people = simple_users(ctx.urls, ctx.db, [row["creator_id"]])
    return {"milestone": issue_part_serializers.milestone(ctx.urls, repo, row, people)}
