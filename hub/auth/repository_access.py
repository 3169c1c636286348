"""Access to operations on the repository that the path names first."""

from dataclasses import dataclass, replace
from typing import Self

from hub.auth.access import Access
from hub.auth.credentials import Caller
from hub.auth.token_rights import (
    ALL,
    check_kind,
    check_sign_on,
    check_token,
    covers,
    not_accessible,
)
from hub.http.errors import Forbidden
from store import Connection, Row
from store.errors import Missing
from store.repositories import repositories

REFUSALS = {
    "admin": "Must have admin rights to Repository.",
    "write": "Must have push access to Repository.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRepo(Access):
    """A role in the repository that the path names first.

    With `author`, the author of the path's last row (its `author_id`) only needs to see the
    repository.
    """

    author: bool = False
    refusal: str | None = None
    """The message for a caller without the role; None for the usual one."""

    def or_anyone(self) -> Self:
        """Return an access that also allows requests without credentials to public repositories."""
        return replace(self, anyone=True)

    def or_author(self) -> Self:
        """Return an access that also allows the author."""
        return replace(self, author=True)

    def refusing(self, message: str) -> Self:
        """Return an access that refuses a caller without the role with this message."""
        return replace(self, refusal=message)

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        check(db, self, caller, row, "read" if self.author else self.role)

    def reach(self, db: Connection, caller: Caller | None, first: Row, last: Row) -> None:
        if self.author and (caller is None or last["author_id"] != caller.account_id):
            check(db, self, caller, first, self.role)

    def owner_of(self, row: Row) -> int | None:
        return int(row["owner_id"])


def check(
    db: Connection, access: OnRepo, caller: Caller | None, repo: Row, needed: str | None = None
) -> None:
    """Check that the caller has the role `needed`, or otherwise the role of `access`.

    Raises Missing if the caller may not see the repository, and Forbidden for any other reason.
    """
    caller = caller and caller.within(db, repo["owner_id"])
    role = _role(db, access, caller, repo)
    if role is None:
        raise Missing("repository")
    # An installation needs its permission even for what anybody may see.
    if caller is not None and (
        repo["private"] or not access.anyone or caller.installation_id is not None
    ):
        _check_in_repo(db, access, caller, repo)
    needed = needed or access.role or "read"
    if not repositories.at_least(role, needed):
        usual = REFUSALS.get(needed, f"Must have {needed} rights to Repository.")
        raise Forbidden(access.refusal or usual)


def may_see(db: Connection, access: OnRepo, caller: Caller | None, repo: Row) -> bool:
    """Return whether the caller may know that the repository exists."""
    return _role(db, access, caller and caller.within(db, repo["owner_id"]), repo) is not None


def _role(db: Connection, access: OnRepo, caller: Caller | None, repo: Row) -> str | None:
    """Return the caller's role, or None if the caller may not see the repository.

    A token that lacks the scope, or is for other repositories, sees no private repository, whatever
    its account may see. An installation sees no other repository, even if it is public.
    """
    if repo["private"] and caller is not None:
        if not caller.reaches(repo):
            return None
        if caller.has_scopes and not covers(caller, access.scopes):
            return None
    return repositories.role_of(db, repo, caller.account if caller else None)


def _check_in_repo(db: Connection, access: OnRepo, caller: Caller, repo: Row) -> None:
    check_kind(access.kinds, caller)
    if not caller.reaches(repo):
        raise Forbidden(not_accessible(caller))
    check_token(access.permissions, caller, access.scopes if repo["private"] else access.accepted)
    if repo["owner_kind"] == "Organization":
        check_sign_on(db, caller, repo["owner_id"], repo["owner"])


def on_repo(
    permission: str,
    level: str,
    *,
    role: str = "read",
    scopes: tuple[str, ...] = ("repo",),
    public_scopes: tuple[str, ...] = (),
    kinds: tuple[str, ...] = ALL,
) -> OnRepo:
    """Return access to a resource in a repository."""
    return OnRepo(
        permissions=((permission, level),),
        role=role,
        scopes=scopes,
        public_scopes=public_scopes,
        kinds=kinds,
    )
