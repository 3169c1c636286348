"""Repository invitations (group 18), as the repository's administrators manage them."""

from typing_extensions import TypedDict

from hub.api.repositories import invitation_serializers
from hub.api.repositories.invitation_serializers import (
    InvitationEvent,
    RepositoryInvitation,
    Role,
    emit_event,
    emit_member_event,
)
from hub.auth.repository_access import on_repo
from hub.http.errors import TooFast
from hub.http.response import TypedReply
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Row
from store.accounts import accounts
from store.errors import Invalid, existing
from store.repositories import invitations, membership_dump, repositories

ops = OperationGroup("repos", invitation_id=invitations.of_repo, username=accounts.by_login)
ops.declare_events(repository_invitation=InvitationEvent)
ops.declare_serializers(repository_invitation=invitation_serializers.expired)
ops.declare_snapshots(invitation=invitation_serializers.snapshot)

SCOPES = ("repo:invite", "repo")
READ = on_repo("administration", "read", role="admin", scopes=SCOPES).or_has(
    "private_repository_invitations", "read"
)
WRITE = on_repo("administration", "write", role="admin", scopes=SCOPES)
CHANGE = on_repo(
    "administration", "write", role="admin", scopes=SCOPES, public_scopes=("public_repo",)
)
# Roles that have other names in requests.
WORDS = {"pull": "read", "push": "write"}


class InvitationChange(TypedDict, total=False):
    """A change of an invitation. Without `permissions`, the role stays."""

    permissions: Role


class NewCollaborator(TypedDict, total=False):
    """A new collaborator. `permission` is a role, or pull (read) or push (write).

    Without it, a new collaborator gets push, and an existing one keeps the present role.
    """

    permission: Text


@ops("GET /repos/{owner}/{repo}/invitations", READ)
def list_invitations(ctx: Context, repo: Row, page: NumberedPaging) -> list[RepositoryInvitation]:
    """List repository invitations

    The open ones, the oldest first.
    """
    return invitation_serializers.page(ctx, page, invitations.of_repository(repo["id"]))


@ops(
    "PATCH /repos/{owner}/{repo}/invitations/{invitation_id}",
    CHANGE,
    emits=("repository_invitation.edited",),
)
def update_invitation(
    ctx: Context, repo: Row, invitation: Row, body: InvitationChange
) -> RepositoryInvitation:
    """Update a repository invitation"""
    role = body.get("permissions", invitation["role"])
    if role != invitation["role"]:
        invitation = invitations.change_role(ctx.db, invitation, role)
        emit_event(ctx, "edited", repo, invitation)
    return _full(ctx, invitation)


@ops(
    "DELETE /repos/{owner}/{repo}/invitations/{invitation_id}",
    WRITE,
    emits=("repository_invitation.deleted",),
)
def delete_invitation(ctx: Context, repo: Row, invitation: Row) -> None:
    """Delete a repository invitation"""
    # The user may have accepted it at this moment.
    ended = existing(invitations.end(ctx.db, invitation), "invitation")
    emit_event(ctx, "deleted", repo, ended)


@ops(
    "PUT /repos/{owner}/{repo}/collaborators/{username}",
    WRITE,
    status=201,
    also=(204,),
    created=True,
    emits=(
        "member.added",
        "member.edited",
        "repository_invitation.created",
        "repository_invitation.edited",
        "repository_invitation.deleted",
    ),
)
def add_collaborator(
    ctx: Context, repo: Row, username: Row, body: NewCollaborator
) -> RepositoryInvitation | TypedReply:
    """Add a repository collaborator

    Invites a user (201). A collaborator, or a member of the organization that owns the repository,
    gets the permission at once without an invitation (204).
    """
    role = _role(body)
    _check_person(repo, username)
    # The user may be accepting an invitation at this moment.
    invitations.alone(ctx.db, repo["id"])
    held = membership_dump.granted(ctx.db, repo["id"], username["id"])
    belongs = accounts.organization_role(ctx.db, repo["owner_id"], username["id"]) is not None
    if held is None and not belongs:
        return _invite(ctx, repo, username, role or "write")
    if held is None or role not in (None, held):
        _grant(ctx, repo, username, held, role or "write")
    return TypedReply(204)


def _role(body: NewCollaborator) -> str | None:
    asked = body.get("permission")
    role = WORDS.get(asked or "", asked)
    if role is not None and role not in repositories.ROLES:
        known = ", ".join([*WORDS, *repositories.ROLES])
        raise _refused(f"{asked!r} is not a permission: {known}", "permission")
    return role


def _check_person(repo: Row, account: Row) -> None:
    if account["kind"] != "User":
        raise _refused("An organization cannot be a collaborator.", "username")
    if account["id"] == repo["owner_id"]:
        raise _refused("The owner of a repository cannot be a collaborator.", "username")


def _refused(message: str, field: str) -> Invalid:
    return Invalid(message, field=field, code="unprocessable", resource="Repository")


def _invite(ctx: Context, repo: Row, account: Row, role: str) -> RepositoryInvitation:
    try:
        row, is_new = invitations.invite(
            ctx.db, repo["id"], account["id"], ctx.required_caller.account_id, role
        )
    except invitations.TooManyInvitations as error:
        raise TooFast(error.seconds, ()) from None
    emit_event(ctx, "created" if is_new else "edited", repo, row)
    return _full(ctx, row)


def _grant(ctx: Context, repo: Row, account: Row, held: str | None, role: str) -> None:
    """Grant a role at once. This ends a pending invitation."""
    repositories.grant(ctx.db, repo["id"], account["id"], role)
    pending = invitations.open_to(ctx.db, repo["id"], account["id"])
    ended = pending and invitations.end(ctx.db, pending)
    if ended is not None:
        emit_event(ctx, "deleted", repo, ended)
    if held is None:
        emit_member_event(ctx, "added", repo, account, {"to": role})
    else:
        emit_member_event(ctx, "edited", repo, account, {"from": held, "to": role})


def _full(ctx: Context, row: Row) -> RepositoryInvitation:
    (shown,) = invitation_serializers.full(ctx.urls, ctx.db, [row])
    return shown
