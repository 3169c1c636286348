"""Serializers of repository invitations and of the events about them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hub.api.repositories import full_serializers
from hub.rest import repository_serializers, serializers
from hub.rest.context import Context
from hub.rest.event_payloads import EventData
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import DetailedRepository, MinimalRepository
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Connection, Row
from store.clock import iso
from store.delivery.outbox import SnapshotEvent
from store.repositories import invitations, repositories
from store.repositories.invitations import InvitationSide

Role = Literal["read", "write", "maintain", "triage", "admin"]


class Invitation(TypedDict):
    """An invitation. Only open ones are shown, so `expired` is false."""

    id: int
    node_id: str
    invitee: SimpleUser | None
    inviter: SimpleUser | None
    permissions: Role
    created_at: str
    expired: bool
    url: str
    html_url: str


class RepositoryInvitation(Invitation):
    repository: MinimalRepository


class InvitationEvent(TypedDict):
    """A change of an invitation to a repository

    The repository is not part of the invitation. There is no sender if the invitation expired.
    """

    action: Literal["created", "edited", "deleted", "accepted", "declined", "expired"]
    invitation: Invitation
    repository: DetailedRepository
    organization: NotRequired[OrganizationSimple]
    sender: NotRequired[SimpleUser]


def invitation(
    urls: Urls, repo: Row, people: dict[int, SimpleUser], row: Row, *, expired: bool = False
) -> Invitation:
    """Serialize an invitation without its repository. `people` are the accounts in it, by id."""
    return {
        "id": row["id"],
        "node_id": node_id("RepositoryInvitation", row["id"]),
        "invitee": people.get(row["invitee_id"]),
        "inviter": people.get(row["inviter_id"]),
        "permissions": row["role"],
        "created_at": iso(row["created_at"]),
        "expired": expired,
        "url": urls.invitation(row["id"]),
        "html_url": f"{urls.page(repo)}/invitations",
    }


def full(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[RepositoryInvitation]:
    """Serialize invitations with their repositories, with as few statements for many as for one."""
    repos = repositories.of(db, {row["repo_id"] for row in rows})
    listed = repository_serializers.repositories(urls, db, [*repos.values()])
    shown = dict(zip(repos, listed, strict=True))
    people = _people(urls, db, rows)
    return [
        {
            **invitation(urls, repos[row["repo_id"]], people, row),
            "repository": shown[row["repo_id"]],
        }
        for row in rows
    ]


def page(ctx: Context, pages: NumberedPaging, side: InvitationSide) -> list[RepositoryInvitation]:
    """Serialize a page of a repository's or a user's open invitations."""
    pages.count(lambda most: invitations.count(ctx.db, side, most))
    rows = invitations.page(ctx.db, side, limit=pages.limit, offset=pages.offset)
    return full(ctx.urls, ctx.db, rows)


def emit_event(ctx: Context, action: str, repo: Row, row: Row) -> None:
    shown = invitation(ctx.urls, repo, _people(ctx.urls, ctx.db, [row]), row)
    ctx.emit(f"repository_invitation.{action}", repo, invitation=shown)


def expired(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    """Return the event data for invitations that have expired."""
    repos = repositories.of(db, {row["repo_id"] for row in rows})
    people = _people(urls, db, rows)
    return [
        (repo, {"invitation": invitation(urls, repo, people, row, expired=True)})
        for row in rows
        for repo in [repos[row["repo_id"]]]
    ]


def snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    """Return an event for each of a repository's invitations as it is now."""
    people = _people(urls, db, rows)
    shown = [invitation(urls, repo, people, row) for row in rows]
    return [
        SnapshotEvent("repository_invitation.edited", repo["id"], {"invitation": one})
        for one in shown
    ]


def _people(urls: Urls, db: Connection, rows: Iterable[Row]) -> dict[int, SimpleUser]:
    ids = {row[name] for row in rows for name in ("invitee_id", "inviter_id")}
    return serializers.simple_users(urls, db, ids)


def emit_member_event(
    ctx: Context, action: str, repo: Row, member: Row, role: Mapping[str, str]
) -> None:
    """Emit the platform's event for a new collaborator or a new role.

    `role` has the member `to`, and for a change also `from`.
    """
    shown = serializers.simple_user(ctx.urls, member)
    ctx.emit(f"member.{action}", repo, member=shown, changes=role_changes(role))


def role_changes(role: Mapping[str, str]) -> dict[str, Any]:
    """Return the `changes` of a `member` event. Older receivers read `permission`."""
    return {
        "permission": {side: full_serializers.COARSE[name] for side, name in role.items()},
        "role_name": role,
    }
