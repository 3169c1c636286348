"""Pull request creation caps (group 11): limits on a user's open pull requests, and exceptions."""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired

from annotated_types import Interval, MaxLen
from typing_extensions import TypedDict

from hub.auth.organization_access import on_org
from hub.auth.repository_access import on_repo
from hub.http.errors import NotAllowed
from hub.rest import organization_serializers, serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.repository_serializers import DetailedRepository
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts, organizations
from store.delivery.outbox import SnapshotEvent
from store.errors import Invalid
from store.repositories import pull_request_caps
from store.repositories.pull_request_caps import LEAST, MOST, MOST_BYPASSING

ops = OperationGroup("interactions", org=organizations.by_login)

ORG = on_org("organization_administration", "write", owner=True, scopes=("admin:org",))
REPO = on_repo("administration", "write", role="admin", public_scopes=("public_repo",))
LIST = on_repo("administration", "write", role="maintain", public_scopes=("public_repo",))
CHANGED = "pull_request_creation_cap.changed"
ADDED, REMOVED = "pull_request_bypass_list.added", "pull_request_bypass_list.removed"

Most = Annotated[int, Interval(ge=LEAST, le=MOST)]


class CreationCapChange(TypedDict):
    """A change of a cap. Without `max_open_pull_requests`, the number stays."""

    enabled: bool
    max_open_pull_requests: NotRequired[Most]


class CreationCap(TypedDict):
    enabled: bool
    max_open_pull_requests: Most


class UserLogins(TypedDict):
    users: Annotated[list[Annotated[Text, MaxLen(100)]], MaxLen(MOST_BYPASSING)]


class CreationCapEvent(TypedDict):
    """A change of a pull request creation cap

    It contains the organization or repository that the cap belongs to.
    """

    action: Literal["changed"]
    pull_request_creation_cap: CreationCap
    organization: NotRequired[OrganizationSimple]
    repository: NotRequired[DetailedRepository]
    sender: NotRequired[SimpleUser]


class BypassListEvent(TypedDict):
    """A change of the list of users who may exceed the pull request creation cap

    `users` are the users who were added or removed.
    """

    action: Literal["added", "removed"]
    users: list[SimpleUser]
    repository: DetailedRepository
    organization: NotRequired[OrganizationSimple]
    sender: NotRequired[SimpleUser]


ops.declare_events(
    pull_request_creation_cap=CreationCapEvent, pull_request_bypass_list=BypassListEvent
)


@ops("GET /orgs/{org}/interaction-limits/pulls/creation-cap", ORG)
def get_pull_request_creation_cap_for_org(ctx: Context, org: Row) -> CreationCap:
    """Get the pull request creation cap for an organization

    The number of pull requests that one user may have open in all public repositories together.
    """
    return _serialize(pull_request_caps.get(ctx.db, "organization", org["id"]))


@ops("PATCH /orgs/{org}/interaction-limits/pulls/creation-cap", ORG, emits=(CHANGED,))
def update_pull_request_creation_cap_for_org(
    ctx: Context, org: Row, body: CreationCapChange
) -> CreationCap:
    """Update the pull request creation cap for an organization"""
    shown, changed = _put(ctx, "organization", org["id"], body)
    if changed:
        organization = organization_serializers.organization(ctx.urls, org)
        ctx.emit(CHANGED, None, pull_request_creation_cap=shown, organization=organization)
    return shown


@ops("GET /repos/{owner}/{repo}/interaction-limits/pulls/creation-cap", REPO, errors=(405,))
def get_pull_request_creation_cap_for_repo(ctx: Context, repo: Row) -> CreationCap:
    """Get the pull request creation cap for a repository

    405 for private repositories, which have no cap.
    """
    _check_public(repo)
    return _serialize(pull_request_caps.get(ctx.db, "repository", repo["id"]))


@ops(
    "PATCH /repos/{owner}/{repo}/interaction-limits/pulls/creation-cap",
    REPO,
    errors=(405,),
    emits=(CHANGED,),
)
def update_pull_request_creation_cap_for_repo(
    ctx: Context, repo: Row, body: CreationCapChange
) -> CreationCap:
    """Update the pull request creation cap for a repository

    405 for private repositories, which have no cap.
    """
    _check_public(repo)
    shown, changed = _put(ctx, "repository", repo["id"], body)
    if changed:
        ctx.emit(CHANGED, repo, pull_request_creation_cap=shown)
    return shown


@ops("GET /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list", LIST)
def get_pull_request_bypass_list_for_repo(ctx: Context, repo: Row) -> list[SimpleUser]:
    """Get the pull request creation cap bypass list for a repository

    The users who may open pull requests beyond the cap.
    """
    rows = pull_request_caps.bypassing(ctx.db, repo["id"])
    return [serializers.simple_user(ctx.urls, row) for row in rows]


@ops("PUT /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list", LIST, emits=(ADDED,))
def set_pull_request_bypass_list_for_repo(ctx: Context, repo: Row, body: UserLogins) -> None:
    """Add users to the pull request creation cap bypass list for a repository

    Adds all of them or none. The list holds at most 100 users.
    """
    users = _users(ctx, body)
    _emit(ctx, ADDED, repo, users, pull_request_caps.add_bypass(ctx.db, repo["id"], users.keys()))


@ops("DELETE /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list", LIST, emits=(REMOVED,))
def remove_pull_request_bypass_list_for_repo(ctx: Context, repo: Row, body: UserLogins) -> None:
    """Remove users from the pull request creation cap bypass list for a repository

    Users who are not on the list are ignored.
    """
    users = _users(ctx, body)
    _emit(
        ctx, REMOVED, repo, users, pull_request_caps.remove_bypass(ctx.db, repo["id"], users.keys())
    )


def _check_public(repo: Row) -> None:
    if repo["private"]:
        raise NotAllowed("Only public repositories have a pull request creation cap.")


def _put(ctx: Context, whose: str, key: int, body: CreationCapChange) -> tuple[CreationCap, bool]:
    row, changed = pull_request_caps.put(
        ctx.db, whose, key, enabled=body["enabled"], most=body.get("max_open_pull_requests")
    )
    return _serialize(row), changed


def _serialize(row: Row) -> CreationCap:
    return {"enabled": bool(row["enabled"]), "max_open_pull_requests": row["most"]}


def _users(ctx: Context, body: UserLogins) -> dict[int, Row]:
    """Return the named users by id. Raises Invalid if one of them does not exist."""
    known = accounts.users_by_login(ctx.db, body["users"])
    for login in body["users"]:
        if login.lower() not in known:
            raise Invalid(
                f"{login!r} is not a user.", field="users", resource="PullRequestBypassList"
            )
    return {row["id"]: row for row in known.values()}


def _emit(ctx: Context, event: str, repo: Row, users: dict[int, Row], changed: set[int]) -> None:
    if changed:
        shown = [serializers.simple_user(ctx.urls, users[key]) for key in sorted(changed)]
        ctx.emit(event, repo, users=shown)


def _cap(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    return [
        SnapshotEvent(CHANGED, repo["id"], {"pull_request_creation_cap": _serialize(row)})
        for row in rows
    ]


def _bypass(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    people = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        SnapshotEvent(ADDED, repo["id"], {"users": [people[row["account_id"]]]}) for row in rows
    ]


ops.declare_snapshots(cap=_cap, bypass=_bypass)
