"""The section `invitations`: invitations to repositories."""

from hub.cli.console.options import repository_named, user
from hub.cli.state.base import FullName, Moment, StateEntry, microseconds
from hub.cli.state.changes import Outcome, StateChange
from hub.cli.state.parts import Role
from store import Connection, Row
from store.repositories import invitations, membership_dump


class InvitationEntry(StateEntry):
    """An invitation, identified by its repository and user. It is ignored if it has expired, or if
    the user already is a collaborator.
    """

    repository: FullName
    user: str
    permissions: Role = "write"
    inviter: str | None = None
    expires_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "invitation", f"{self.repository.lower()} {self.user.lower()}"


def invitation(db: Connection, wanted: InvitationEntry) -> StateChange:
    """Invite a user, or change the invitation. It does not count toward the invitations of a
    day.
    """
    repo, invitee = repository_named(db, wanted.repository), user(db, wanted.user)
    before = invitations.open_to(db, repo["id"], invitee["id"])
    after = (before or {}) | _given(db, wanted, new=before is None)
    outcome: Outcome = "unchanged"
    settled = membership_dump.granted(db, repo["id"], invitee["id"]) is not None
    over = (after["expires_at"] or db.now + 1) <= db.now
    if not settled and not over and after != before:
        invitations.invite(
            db,
            repo["id"],
            invitee["id"],
            after["inviter_id"],
            after["role"],
            ends=after["expires_at"],
            counted=False,
        )
        outcome = "created" if before is None else "updated"
    return StateChange("invitation", f"{repo['full_name']} {invitee['login']}", outcome)


def _given(db: Connection, wanted: InvitationEntry, *, new: bool) -> Row:
    """Return the columns for the fields that the document has. A new invitation gets all
    columns.
    """
    said = wanted.model_fields_set
    found: Row = {}
    if new or "permissions" in said:
        found["role"] = wanted.permissions
    if new or "inviter" in said:
        found["inviter_id"] = None if wanted.inviter is None else user(db, wanted.inviter)["id"]
    if new or "expires_at" in said:
        ends = wanted.expires_at
        found["expires_at"] = None if ends is None else microseconds(ends)
    return found
