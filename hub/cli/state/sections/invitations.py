"""The section `invitations`: invitations to repositories."""

from hub.cli.console.lookups import user
from hub.cli.state.base import Moment, RepositoryPart
from hub.cli.state.sections.repositories import Role
from store import Connection, Row, clock
from store.repositories import invitations, membership_dump


class InvitationEntry(RepositoryPart):
    """An invitation, identified by its repository and user. It is ignored if it has expired, or if
    the user already is a collaborator.
    """

    identified_by = ("repository", "user")

    user: str
    permissions: Role = "write"
    inviter: str | None = None
    expires_at: Moment | None = None

    def name_in(self, db: Connection, parent: Row) -> str:
        login = user(db, self.user)["login"]
        return self.identified(repository=parent["full_name"], user=login)

    def find(self, db: Connection, parent: Row) -> Row | None:
        return invitations.open_to(db, parent["id"], user(db, self.user)["id"])

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Invite the user, or change the invitation. It does not count toward the invitations of a
        day.
        """
        invitations.alone(db, parent["id"])
        invitee = user(db, self.user)["id"]
        after = (before or {}) | self._columns(db, new=before is None)
        settled = membership_dump.granted(db, parent["id"], invitee) is not None
        over = (after["expires_at"] or db.now + 1) <= db.now
        if not settled and not over and after != before:
            invited = (parent["id"], invitee, after["inviter_id"], after["role"])
            invitations.invite(db, *invited, ends=after["expires_at"], counted=False)

    def _columns(self, db: Connection, *, new: bool) -> Row:
        """Return the columns for the fields that the document has. A new invitation gets all
        columns.
        """
        inviter, ends = self.inviter, self.expires_at
        found = {
            "permissions": ("role", self.permissions),
            "inviter": ("inviter_id", None if inviter is None else user(db, inviter)["id"]),
            "expires_at": ("expires_at", None if ends is None else clock.from_datetime(ends)),
        }
        return dict(found[name] for name in found if new or name in self.model_fields_set)
