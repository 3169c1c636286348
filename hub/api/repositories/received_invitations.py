"""Repository invitations (group 18), as invited users manage them."""

from hub.api.repositories import invitation_serializers
from hub.api.repositories.invitation_serializers import (
    RepositoryInvitation,
    emit_event,
    emit_member_event,
)
from hub.auth.access import on_user
from hub.auth.token_rights import check_repository
from hub.auth.viewing import viewer_of
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from store import Row
from store.accounts import accounts
from store.errors import existing
from store.repositories import invitations, repositories

ops = OperationGroup("repos", invitation_id=invitations.of_invitee)

SCOPES = ("repo:invite", "repo")
READ = on_user("private_repository_invitations", "read", scopes=SCOPES)
WRITE = on_user("private_repository_invitations", "write", scopes=SCOPES)


@ops("GET /user/repository_invitations", READ)
def list_invitations_for_authenticated_user(
    ctx: Context, page: NumberedPaging
) -> list[RepositoryInvitation]:
    """List repository invitations for the authenticated user

    The open ones, the oldest first. A token that is limited to some repositories has access to the
    invitations to these. If an organization has single sign-on, the token must be authorized there.
    """
    mine = invitations.to_person(ctx.required_caller.account_id, viewer_of(ctx.caller))
    return invitation_serializers.page(ctx, page, mine)


@ops(
    "PATCH /user/repository_invitations/{invitation_id}",
    WRITE,
    emits=("member.added", "member.edited", "repository_invitation.accepted"),
)
def accept_invitation_for_authenticated_user(ctx: Context, invitation: Row) -> None:
    """Accept a repository invitation

    A user who already has a higher role keeps it.
    """
    repo, invitee = _between(ctx, invitation)
    accepted, held = invitations.accept(ctx.db, invitation)
    role = accepted["role"]
    if held is None:
        emit_member_event(ctx, "added", repo, invitee, {"to": role})
    elif not repositories.at_least(held, role):
        emit_member_event(ctx, "edited", repo, invitee, {"from": held, "to": role})
    emit_event(ctx, "accepted", repo, accepted)


@ops(
    "DELETE /user/repository_invitations/{invitation_id}",
    WRITE,
    emits=("repository_invitation.declined",),
)
def decline_invitation_for_authenticated_user(ctx: Context, invitation: Row) -> None:
    """Decline a repository invitation"""
    repo, _ = _between(ctx, invitation)
    declined = existing(invitations.end(ctx.db, invitation), "invitation")
    emit_event(ctx, "declined", repo, declined)


def _between(ctx: Context, invitation: Row) -> tuple[Row, Row]:
    """Return the invitation's repository and invitee.

    Raises Missing or SignOnRequired if the token is not valid for the repository.
    """
    repo = repositories.get(ctx.db, invitation["repo_id"])
    assert repo is not None, "an invitation ends with its repository"
    check_repository(ctx.db, ctx.required_caller, repo, "invitation")
    return repo, accounts.required(ctx.db, invitation["invitee_id"])
