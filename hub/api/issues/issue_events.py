"""Issue events (group 19): the events and timelines of issues and pull requests."""

from typing_extensions import TypedDict

from hub.api.issues import issue_serializers
from hub.api.issues.issue_event_serializers import IssueEvent, IssueEventContext
from hub.api.issues.issue_rules import ISSUES, READ, find_issue
from hub.api.issues.timeline_serializers import Timeline, TimelineEvent
from hub.auth.viewing import team_viewer
from hub.http.errors import Malformed
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.errors import Invalid
from store.issues import issue_events, issues
from store.issues.issue_event_kinds import KINDS

ops = OperationGroup("issues", issue_number=find_issue, event_id=issue_events.get)

# No page may go beyond this many events, as deep pages are expensive.
DEEPEST = 100_000


class IssueEventQuery(TypedDict, total=False):
    """A filter. `exclude` is a comma-separated list of events to leave out."""

    exclude: Text


@ops("GET /repos/{owner}/{repo}/issues/events", ISSUES, errors=(422,))
def list_events_for_repo(ctx: Context, repo: Row, page: NumberedPaging) -> list[IssueEvent]:
    """List issue events for a repository

    The newest first, each with its issue or pull request.
    """
    if page.offset + page.limit > DEEPEST:
        raise Invalid(
            "In order to keep the API fast for everyone, pagination is limited for this resource."
        )
    page.count(lambda most: issue_events.count_of_repository(ctx.db, repo["id"], most))
    rows = issue_events.of_repository(ctx.db, repo["id"], **page.bounds)
    return _with_issues(ctx, repo, rows)


@ops("GET /repos/{owner}/{repo}/issues/events/{event_id}", READ, errors=(410,))
def get_event(ctx: Context, repo: Row, event: Row) -> IssueEvent:
    """Get an issue event"""
    (shown,) = _with_issues(ctx, repo, [event])
    return shown


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/events", READ)
def list_events(ctx: Context, repo: Row, issue: Row, page: NumberedPaging) -> list[IssueEvent]:
    """List issue events

    The events of one issue or pull request, the oldest first.
    """
    page.count(lambda most: issue_events.count_of_issue(ctx.db, issue["id"], most))
    rows = issue_events.of_issue(ctx.db, issue["id"], **page.bounds)
    return _serialize(ctx, repo, rows)


@ops("GET /repos/{owner}/{repo}/issues/{issue_number}/timeline", READ)
def list_events_for_timeline(
    ctx: Context, repo: Row, issue: Row, page: NumberedPaging, query: IssueEventQuery
) -> list[TimelineEvent]:
    """List timeline events for an issue

    Its events, comments, reviews and commits, the oldest first.
    """
    but = _kinds(query.get("exclude", ""))
    page.count(lambda most: issue_events.count_timeline(ctx.db, issue["id"], most, but=but))
    rows = issue_events.timeline(ctx.db, issue["id"], **page.bounds, but=but)
    viewer = team_viewer(ctx.db, ctx.caller, repo["owner_id"])
    timeline = Timeline.of(ctx.urls, ctx.db, repo, issue, rows, viewer)
    return [timeline.serialize(row) for row in rows]


def _kinds(given: str) -> set[str]:
    named = {part.strip() for part in given.split(",")} - {""}
    if not named <= KINDS:
        raise Malformed("exclude must be a comma-separated list of event names")
    return named


def _serialize(ctx: Context, repo: Row, rows: list[Row]) -> list[IssueEvent]:
    viewer = team_viewer(ctx.db, ctx.caller, repo["owner_id"])
    shown = IssueEventContext.of(ctx.urls, ctx.db, repo, rows, viewer)
    return [shown.event(row) for row in rows]


def _with_issues(ctx: Context, repo: Row, rows: list[Row]) -> list[IssueEvent]:
    found = issues.of(ctx.db, [row["issue_id"] for row in rows])
    shown = issue_serializers.several(ctx.urls, ctx.db, repo, [*found.values()])
    events = _serialize(ctx, repo, rows)
    return [
        {**event, "issue": shown[row["issue_id"]]} for row, event in zip(rows, events, strict=True)
    ]
