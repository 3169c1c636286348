"""Serializer of pull requests, as far as they are known here.

A pull request is an issue with a head, a base, and what platforms report about it. Members that no
event has reported are null, or empty, false or 0 where clients expect a value.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from hub.api.enterprises.team_serializers import EventTeam
from hub.api.issues import issue_serializers
from hub.api.issues.issue_event_serializers import event_team
from hub.api.issues.issue_part_serializers import Label, Milestone
from hub.api.pulls.pull_relations import (
    AutoMerge,
    PullBranch,
    PullRelations,
    RepositoriesSerializer,
)
from hub.api.repositories import full_serializers, stand_ins
from hub.auth.viewing import team_viewer as viewer_of_teams
from hub.http.media import PLAIN, Media
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Connection, Row
from store.enterprises import organization_teams
from store.issues import pull_details, pulls
from store.repositories.author_association import AuthorAssociation

# Replaces a pull request of which only the issue is known.
UNKNOWN: Row = dict.fromkeys(pulls.NAMES) | {"details": "{}"}
# Members of issues that pull requests do not have.
OF_ISSUES = frozenset(
    {
        "pull_request",
        "events_url",
        "timeline_url",
        "labels_url",
        "repository_url",
        "type",
        "state_reason",
        "closed_by",
        "pinned_comment",
        "performed_via_service_app",
    }
)


class PullRequestLink(TypedDict):
    href: str


class PullRequestLinks(TypedDict):
    self: PullRequestLink
    html: PullRequestLink
    issue: PullRequestLink
    comments: PullRequestLink
    review_comments: PullRequestLink
    review_comment: PullRequestLink
    commits: PullRequestLink
    statuses: PullRequestLink


class PullLabel(Label):
    """A label. `description` is empty if it has none."""

    description: str  # type: ignore[misc]  # lists of pull requests allow no null


class PullRequestSimple(TypedDict):
    """A pull request in a list. The media type decides which of the body members are present."""

    url: str
    id: int
    node_id: str
    html_url: str
    diff_url: str
    patch_url: str
    issue_url: str
    commits_url: str
    review_comments_url: str
    review_comment_url: str
    comments_url: str
    statuses_url: str
    number: int
    state: Literal["open", "closed"]
    locked: bool
    title: str
    user: SimpleUser
    body: NotRequired[str | None]
    body_text: NotRequired[str | None]
    body_html: NotRequired[str | None]
    labels: list[PullLabel]
    milestone: Milestone | None
    active_lock_reason: str | None
    created_at: str
    updated_at: str
    closed_at: str | None
    merged_at: str | None
    merge_commit_sha: str | None
    assignee: SimpleUser | None
    assignees: list[SimpleUser]
    requested_reviewers: list[SimpleUser]
    requested_teams: list[EventTeam]
    head: PullBranch
    base: PullBranch
    _links: PullRequestLinks
    author_association: AuthorAssociation
    auto_merge: AutoMerge | None
    draft: bool


class PullRequest(PullRequestSimple):
    """A pull request. Numbers that no event has reported are 0."""

    merged: bool
    mergeable: bool | None
    rebaseable: bool | None
    mergeable_state: str
    merged_by: SimpleUser | None
    comments: int
    review_comments: int
    maintainer_can_modify: bool
    commits: int
    additions: int
    deletions: int
    changed_files: int


def several(
    urls: Urls,
    db: Connection,
    repo: Row,
    rows: Sequence[Row],
    serialize_repositories: RepositoriesSerializer,
    media: Media = PLAIN,
    *,
    team_viewer: Row | None = None,
) -> dict[int, PullRequest]:
    """Serialize the pull requests of a repository, by issue id. `rows` are the issues.

    `serialize_repositories` serializes the repositories of their branches. Teams that
    `team_viewer` may not see are left out. The payloads of hooks have all teams.
    """
    issues = issue_serializers.several(urls, db, repo, rows, media)
    known = {number: _read(row) for number, row in pulls.of_issues(db, issues).items()}
    if team_viewer is not None:
        _hide_teams(db, repo, team_viewer, [row["details"] for row in known.values()])
    relations = PullRelations.of(urls, db, repo, [*known.values()], serialize_repositories)
    unknown = _read(UNKNOWN)
    return {
        number: pull_request(relations, issue, known.get(number, unknown))
        for number, issue in issues.items()
    }


def for_caller(ctx: Context, repo: Row, rows: Sequence[Row]) -> list[PullRequest]:
    """Serialize pull requests, given as issues, in the form that the caller requested.

    The repositories of their branches have the caller's permissions.
    """

    def serialize_repositories(repositories: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
        return full_serializers.several(ctx, repositories)

    viewer = viewer_of_teams(ctx.db, ctx.caller, repo["owner_id"])
    found = several(
        ctx.urls, ctx.db, repo, rows, serialize_repositories, ctx.media, team_viewer=viewer
    )
    return [*found.values()]


def _hide_teams(db: Connection, repo: Row, viewer: Row, details: Sequence[Row]) -> None:
    teams = [team for each in details for team in each.get("teams", ())]
    hidden = organization_teams.hidden(db, repo["owner_id"], viewer, teams)
    for each in details if hidden else ():
        each["teams"] = [one for one in each.get("teams", ()) if one["slug"] not in hidden]


def _read(row: Row) -> Row:
    return row | {"details": orjson.loads(row["details"])}


def simple(pull: PullRequest) -> PullRequestSimple:
    """Return a pull request without the members that lists do not have."""
    names = PullRequest.__annotations__.keys() - PullRequestSimple.__annotations__.keys()
    found = {name: value for name, value in pull.items() if name not in names}
    return cast("PullRequestSimple", found)


def pull_request(relations: PullRelations, issue: Mapping[str, Any], row: Row) -> PullRequest:
    """Serialize a pull request. `issue` is serialized, and the details in `row` are objects."""
    shown = {name: value for name, value in issue.items() if name not in OF_ISSUES}
    number = row["id"] or issue["id"]
    found = shown | {
        **_urls(relations, issue, row),
        "id": number,
        "node_id": node_id("PullRequest", number),
        "user": issue["user"] or stand_ins.account(relations.urls),
        "labels": [{**one, "description": one["description"] or ""} for one in issue["labels"]],
        "draft": bool(row["draft"]),
        "head": relations.branch(row, "head", row["head_repo"]),
        "base": relations.branch(row, "base", relations.repo["full_name"]),
        "merged": row["merged_at"] is not None,
        "merged_at": serializers.time(row["merged_at"]),
        "merged_by": relations.people.get(row["merged_by_id"]),
        "merge_commit_sha": row["merge_commit_sha"],
        **_details(relations, row["details"]),
    }
    return cast("PullRequest", found)


def _details(relations: PullRelations, details: Mapping[str, Any]) -> dict[str, Any]:
    flags = {name: details.get(name) for name in pull_details.FLAGS}
    return {
        **{name: details.get(name, 0) for name in pull_details.SIZES},
        **{name: None if flag is None else bool(flag) for name, flag in flags.items()},
        "maintainer_can_modify": bool(details.get("maintainer_can_modify")),
        "mergeable_state": details.get("mergeable_state", "unknown"),
        "auto_merge": relations.auto_merge(details.get("auto_merge")),
        "requested_reviewers": [
            relations.people[one] for one in details.get("reviewers", ()) if one in relations.people
        ],
        "requested_teams": [
            event_team(relations.urls, relations.repo, one) for one in details.get("teams", ())
        ],
    }


def _urls(relations: PullRelations, issue: Mapping[str, Any], row: Row) -> dict[str, Any]:
    repo, links = relations.urls.repository(relations.repo), issue["pull_request"]
    url = links["url"]
    found = {
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{repo}/pulls/comments{{/number}}",
        "comments_url": issue["comments_url"],
        "statuses_url": f"{repo}/statuses/{row['head_sha'] or ''}",
    }
    named = {name.removesuffix("_url"): {"href": one} for name, one in found.items()}
    own = {"self": url, "html": links["html_url"], "issue": issue["url"]}
    return {
        **{name: links[name] for name in ("url", "html_url", "diff_url", "patch_url")},
        "issue_url": issue["url"],
        **found,
        "_links": {**{name: {"href": one} for name, one in own.items()}, **named},
    }
