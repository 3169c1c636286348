"""Serializers of issue events."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, Self, cast

from typing_extensions import TypedDict

from hub.api.enterprises.team_serializers import EventTeam
from hub.api.issues.issue_serializers import Issue
from hub.api.repositories import stand_ins
from hub.rest.repository_serializers import MinimalRepository, repositories
from hub.rest.serializers import SimpleUser, node_id, simple_users
from hub.rest.urls import Urls
from store import Connection, Row
from store.clock import iso
from store.enterprises import organization_teams
from store.repositories import repositories as kept

# Members whose values are accounts, and members whose values are issues. One has a team.
PEOPLE = ("assignee", "assigner", "review_requester", "requested_reviewer")
REFERENCES = ("sub_issue", "parent_issue", "blocked_by", "blocking")
TEAM = "requested_team"


class EventLabel(TypedDict):
    name: str
    color: str


class EventMilestone(TypedDict):
    title: str


Rename = TypedDict("Rename", {"from": str, "to": str})


class IssueType(TypedDict):
    id: int
    name: str
    color: str | None


class DismissedReview(TypedDict):
    state: str
    review_id: int
    dismissal_message: str | None
    dismissal_commit_id: NotRequired[str]


class ProjectCard(TypedDict):
    id: int
    url: str
    project_id: int
    project_url: str
    column_name: str
    previous_column_name: NotRequired[str]


class IssueReference(TypedDict):
    number: int
    title: str
    state: str
    state_reason: str | None
    repository: MinimalRepository
    issue_type: None


class IssueEvent(TypedDict):
    """An issue event. `event` is its kind, which determines the optional members."""

    id: int
    node_id: str
    url: str
    actor: SimpleUser | None
    event: str
    commit_id: str | None
    commit_url: str | None
    created_at: str
    performed_via_service_app: None
    issue: NotRequired[Issue]
    label: NotRequired[EventLabel]
    assignee: NotRequired[SimpleUser]
    assigner: NotRequired[SimpleUser]
    review_requester: NotRequired[SimpleUser]
    requested_reviewer: NotRequired[SimpleUser]
    requested_team: NotRequired[EventTeam]
    dismissed_review: NotRequired[DismissedReview]
    milestone: NotRequired[EventMilestone]
    project_card: NotRequired[ProjectCard]
    rename: NotRequired[Rename]
    issue_type: NotRequired[IssueType]
    prev_issue_type: NotRequired[IssueType]
    sub_issue: NotRequired[IssueReference | None]
    parent_issue: NotRequired[IssueReference | None]
    blocked_by: NotRequired[IssueReference | None]
    blocking: NotRequired[IssueReference | None]
    lock_reason: NotRequired[str | None]
    state_reason: NotRequired[str | None]


@dataclass(slots=True)
class IssueEventContext:
    """The accounts and repositories in a repository's events, loaded with few statements."""

    urls: Urls
    repo: Row
    people: Mapping[int, SimpleUser]
    repositories: Mapping[int, MinimalRepository]
    """By id: repositories that everybody with access to this one may see."""
    hidden: Collection[str]
    """The slugs of teams that the viewer may not see."""

    @classmethod
    def of(
        cls, urls: Urls, db: Connection, repo: Row, rows: Sequence[Row], team_viewer: Row
    ) -> Self:
        ids = {row["actor_id"] for row in rows}
        ids |= {row["members"].get(name) for row in rows for name in PEOPLE}
        within = {
            row["members"][name]["repo_id"]
            for row in rows
            for name in REFERENCES
            if row["members"].get(name)
        } - {None}
        people, repositories = simple_users(urls, db, ids), _open(urls, db, repo, within)
        teams = [row["members"][TEAM] for row in rows if TEAM in row["members"]]
        hidden = organization_teams.hidden(db, repo["owner_id"], team_viewer, teams)
        return cls(urls, repo, people, repositories, hidden)

    def person(self, account_id: int | None) -> SimpleUser:
        """Return an account, or a placeholder if it no longer exists."""
        found = None if account_id is None else self.people.get(account_id)
        return found or stand_ins.account(self.urls)

    def event(self, row: Row) -> IssueEvent:
        """Serialize an event without its issue."""
        sha = row["commit_id"]
        base = {
            "id": row["id"],
            "node_id": node_id("IssueEvent", row["id"]),
            "url": f"{self.urls.repository(self.repo)}/issues/events/{row['id']}",
            "actor": self.person(row["actor_id"]),
            "event": row["kind"],
            "commit_id": sha,
            "commit_url": None if sha is None else self.urls.commit(self.repo, sha),
            "created_at": iso(row["created_at"]),
            "performed_via_service_app": None,
        }
        shown = (name for name in row["members"] if not self._is_hidden(row, name))
        return cast("IssueEvent", base | {name: self._member(row, name) for name in shown})

    def _is_hidden(self, row: Row, name: str) -> bool:
        return name == TEAM and row["members"][name]["slug"] in self.hidden

    def _member(self, row: Row, name: str) -> Any:
        value = row["members"][name]
        read = MEMBERS.get(name)
        return value if read is None else read(self, row, value)


def _open(urls: Urls, db: Connection, repo: Row, ids: set[int]) -> dict[int, MinimalRepository]:
    found = kept.of(db, ids).values()
    rows = [row for row in found if not row["private"] or row["id"] == repo["id"]]
    shown = repositories(urls, db, rows) if rows else []
    return {row["id"]: one for row, one in zip(rows, shown, strict=True)}


def _person(shown: IssueEventContext, row: Row, value: Any) -> SimpleUser:
    return shown.person(value)


def _reference(shown: IssueEventContext, row: Row, value: Any) -> IssueReference | None:
    within = shown.repositories.get(value["repo_id"])
    if within is None:
        return None
    return {
        "number": value["number"],
        "title": value["title"],
        "state": value["state"],
        "state_reason": value.get("state_reason"),
        "repository": within,
        "issue_type": None,
    }


def _team(shown: IssueEventContext, row: Row, value: Any) -> EventTeam:
    return event_team(shown.urls, shown.repo, value)


def event_team(urls: Urls, repo: Row, value: Mapping[str, Any]) -> EventTeam:
    """Serialize a team that a platform reported, of the organization that owns the repository."""
    url = f"{urls.root}/organizations/{repo['owner_id']}/team/{value['id']}"
    return {
        "id": value["id"],
        "node_id": node_id("Team", value["id"]),
        "name": value["name"],
        "slug": value["slug"],
        "description": value.get("description"),
        "privacy": value.get("privacy", "closed"),
        "notification_setting": value.get("notification_setting", "notifications_enabled"),
        "permission": value.get("permission", "pull"),
        "url": url,
        "html_url": f"{urls.origin}/orgs/{repo['owner']}/teams/{value['slug']}",
        "members_url": f"{url}/members{{/member}}",
        "repositories_url": f"{url}/repos",
        "type": "organization",
        "parent": None,
    }


MEMBERS: dict[str, Callable[[IssueEventContext, Row, Any], Any]] = {
    **dict.fromkeys(PEOPLE, _person),
    **dict.fromkeys(REFERENCES, _reference),
    TEAM: _team,
}
"""Serializers of the members that are not shown as they are stored."""
