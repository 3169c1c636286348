"""Invitations to collaborate in a repository.

An expired invitation counts as deleted, whether its event has been sent yet or not.
"""

from dataclasses import dataclass
from typing import Any

from store.accounts.viewers import RepositoryViewer, reached
from store.clock import DAY, SECOND, SKEW
from store.database import paging
from store.database.connection import Connection, Row
from store.errors import Busy, Missing, existing
from store.jobs import jobs
from store.repositories import membership_dump, repositories

LIFETIME = 7 * DAY
MOST, WINDOW = 50, DAY
COLUMNS = "id, repo_id, invitee_id, inviter_id, role, created_at, expires_at"
LIVE = "expires_at > :now"


class TooManyInvitations(Busy):
    """A repository has sent as many invitations as it may. It may send one in `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"more than {MOST} invitations in a day")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class InvitationSide:
    """The repository that sent the invitations, or the person who received them.

    With a viewer, only invitations to repositories for which the viewer's token is valid count.
    """

    column: str
    key: int
    viewer: RepositoryViewer | None = None

    def where(self, db: Connection) -> tuple[str, dict[str, Any]]:
        """Return SQL for the open invitations, and its parameters."""
        where = f"{self.column} = :key AND {LIVE}"
        given: dict[str, Any] = {"key": self.key}
        if self.viewer is None:
            return where, given
        valid, limits = reached(db, self.viewer)
        source = "repository r JOIN account a ON a.id = r.owner_id"
        found = " AND ".join(["r.id = repository_invitation.repo_id", *valid])
        return f"{where} AND EXISTS (SELECT 1 FROM {source} WHERE {found})", given | limits


def of_repository(repo_id: int) -> InvitationSide:
    return InvitationSide("repo_id", repo_id)


def to_person(account_id: int, viewer: RepositoryViewer | None = None) -> InvitationSide:
    return InvitationSide("invitee_id", account_id, viewer)


def page(db: Connection, side: InvitationSide, *, limit: int, offset: int) -> list[Row]:
    """Return a page of open invitations (COLUMNS), oldest first."""
    where, given = side.where(db)
    query = f"SELECT {COLUMNS} FROM repository_invitation WHERE {where} ORDER BY id"
    return paging.page(db, query, limit, offset, **given)


def count(db: Connection, side: InvitationSide, most: int) -> int:
    """Return how many invitations `page` can return, counted up to `most`."""
    where, given = side.where(db)
    query = f"SELECT id FROM repository_invitation WHERE {where} ORDER BY id"
    return paging.count(db, query, most, **given)


def of_repo(db: Connection, repo_id: int, invitation_id: int) -> Row | None:
    """Return the repository's open invitation with this id, or None."""
    return _get(db, of_repository(repo_id), invitation_id)


def of_invitee(db: Connection, account_id: int, invitation_id: int) -> Row | None:
    """Return the open invitation with this id to this person, or None."""
    return _get(db, to_person(account_id), invitation_id)


def _get(db: Connection, side: InvitationSide, invitation_id: int) -> Row | None:
    where, given = side.where(db)
    query = f"SELECT {COLUMNS} FROM repository_invitation WHERE id = :id AND {where}"
    return db.one(query, id=invitation_id, **given)


def open_to(db: Connection, repo_id: int, invitee_id: int) -> Row | None:
    """Return this person's open invitation to this repository, or None."""
    return db.one(
        f"SELECT {COLUMNS} FROM repository_invitation"
        f" WHERE invitee_id = :invitee_id AND repo_id = :repo_id AND {LIVE}",
        invitee_id=invitee_id,
        repo_id=repo_id,
    )


def invite(
    db: Connection,
    repo_id: int,
    invitee_id: int,
    inviter_id: int | None,
    role: str,
    *,
    ends: int | None = None,
    counted: bool = True,
) -> tuple[Row, bool]:
    """Invite an account, or renew its invitation with this role. Return it, and whether it is new.

    It expires after 7 days, in whole seconds, or at `ends`. If it is new and `counted`, and the
    repository has sent 50 in a day, raise TooManyInvitations.
    """
    alone(db, repo_id)
    ends = ends or (db.now + LIFETIME) // SECOND * SECOND
    renewed = _renew(db, repo_id, invitee_id, inviter_id, role, ends)
    if renewed is not None:
        return renewed, False
    if counted:
        _count_in(db, repo_id)
    row = db.required(
        "INSERT INTO repository_invitation (repo_id, invitee_id, inviter_id, role, created_at,"
        " expires_at) VALUES (:repo_id, :invitee_id, :inviter_id, :role, :now, :ends)"
        f" RETURNING {COLUMNS}",
        repo_id=repo_id,
        invitee_id=invitee_id,
        inviter_id=inviter_id,
        role=role,
        ends=ends,
    )
    jobs.notify_worker(db)
    return row, True


def alone(db: Connection, repo_id: int) -> None:
    """Lock the repository's invitations until the transaction ends.

    Without the lock, a user who is accepting an invitation could be invited again.
    """
    db.alone(f"invitations of {repo_id}")


def _renew(
    db: Connection, repo_id: int, invitee_id: int, inviter_id: int | None, role: str, ends: int
) -> Row | None:
    """Renew this person's open invitation to this repository. Return None if there is none."""
    renewed = db.one(
        "UPDATE repository_invitation SET inviter_id = :inviter_id, role = :role,"
        " expires_at = :ends WHERE invitee_id = :invitee_id AND repo_id = :repo_id"
        f" AND {LIVE} RETURNING {COLUMNS}",
        repo_id=repo_id,
        invitee_id=invitee_id,
        inviter_id=inviter_id,
        role=role,
        ends=ends,
    )
    if renewed is not None:
        jobs.notify_worker(db)
    return renewed


def _count_in(db: Connection, repo_id: int) -> None:
    """Count an invitation that is sent now."""
    db.execute(
        "DELETE FROM invitation_sent WHERE repo_id = :repo_id"
        " AND (sent_at <= :before OR sent_at > :ahead)",
        repo_id=repo_id,
        before=db.now - WINDOW,
        ahead=db.now + SKEW,
    )
    sent = db.tuples(
        "SELECT sent_at FROM invitation_sent WHERE repo_id = :repo_id ORDER BY sent_at",
        repo_id=repo_id,
    )
    if len(sent) >= MOST:
        raise TooManyInvitations((sent[0][0] + WINDOW - db.now) // SECOND + 1)
    db.execute(
        "INSERT INTO invitation_sent (repo_id, sent_at) VALUES (:repo_id, :now)", repo_id=repo_id
    )


def change_role(db: Connection, row: Row, role: str) -> Row:
    """Change the offered role. Raises Missing if the invitation is gone."""
    changed = db.one(
        f"UPDATE repository_invitation SET role = :role WHERE id = :id RETURNING {COLUMNS}",
        role=role,
        id=row["id"],
    )
    if changed is None:
        raise Missing("invitation")
    return changed


def end(db: Connection, row: Row) -> Row | None:
    """Delete an answered or withdrawn invitation. Return it as it was, or None if it is gone."""
    return db.one(
        f"DELETE FROM repository_invitation WHERE id = :id RETURNING {COLUMNS}", id=row["id"]
    )


def accept(db: Connection, row: Row) -> tuple[Row, str | None]:
    """Make the invitee a collaborator. A higher role is kept.

    Return the invitation as it was, and the invitee's former role or None. Raises Missing if the
    invitation is gone.
    """
    alone(db, row["repo_id"])
    offer = existing(end(db, row), "invitation")
    held = membership_dump.granted(db, offer["repo_id"], offer["invitee_id"])
    if not repositories.at_least(held, offer["role"]):
        repositories.grant(db, offer["repo_id"], offer["invitee_id"], offer["role"])
    return offer, held
