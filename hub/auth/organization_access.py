"""Access to operations on the organization that the path names first."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hub.auth.access import Access
from hub.auth.credentials import Caller
from hub.auth.token_rights import (
    ALL,
    Permission,
    check_kind,
    check_permission,
    check_sign_on,
    check_token,
    covers,
    is_signed_on,
    suffices,
)
from hub.auth.viewing import viewer_of
from hub.http.errors import Forbidden
from store import Connection, Row
from store.accounts import administrators, organizations
from store.accounts.memberships import OwnSelection
from store.errors import Missing
from store.repositories import collaborators
from store.repositories.repositories import ROLES

NOT_AN_OWNER = "Must be an owner of the organization."
NOT_A_MEMBER = "Must be a member of the organization."


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOrg(Access):
    """Membership of the organization or, with `owner`, ownership.

    A token that has only one of `public_scopes` is accepted, but may see public repositories only.
    The handler must filter by its viewer (`hub.auth.viewing`).
    """

    owner: bool = False
    hidden: bool = False
    """Whether members who are no owners, and tokens without the scope, get 404 too."""
    known: bool = False
    """Whether the answer is 403 for accounts that are no members, instead of 404."""

    @property
    def requirement(self) -> str:
        return f"Role in the organization: {'owner' if self.owner else 'member'}."

    def role_of(self, db: Connection, caller: Caller, row: Row) -> str | None:
        """Return the caller's role in an organization, or None if the caller may not know it."""
        return organizations.role_of(db, row, caller.account)

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        """Check the caller's role and token.

        Raises Missing for everybody but members (or owners, if `hidden`), and for tokens limited to
        another account; otherwise Forbidden. The fields `hidden` and `known` say more.
        """
        assert caller is not None, "this access requires a token"
        caller = caller.within(db, row["id"])
        role = self.role_of(db, caller, row)
        if not caller.reaches_account(row["id"]):
            raise Missing("organization")
        if role is None:
            raise Forbidden(NOT_A_MEMBER) if self.known else Missing("organization")
        if self.hidden and (role != "admin" or _lacks_scope(self, caller)):
            raise Missing("organization")
        check_kind(self.kinds, caller)
        check_token(self.permissions, caller, self.accepted)
        check_sign_on(db, caller, row["id"], row["login"])
        if self.owner and role != "admin":
            raise Forbidden(NOT_AN_OWNER)

    def owner_of(self, row: Row) -> int | None:
        return int(row["id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class OrCollaborator(OnOrg):
    """Membership of the organization, or a role in one of its repositories that the token shows.

    Collaborators need not be members.
    """

    @property
    def requirement(self) -> str:
        return f"{super(OrCollaborator, self).requirement[:-1]}, or any in one of its repositories."

    def role_of(self, db: Connection, caller: Caller, row: Row) -> str | None:
        known = super(OrCollaborator, self).role_of(db, caller, row)
        return "collaborator" if known is None and self.collaborates(db, caller, row) else known

    def collaborates(self, db: Connection, caller: Caller, row: Row, *roles: str) -> bool:
        """Return whether the caller has one of these roles, or any, in one of the repositories."""
        ((permission, _),) = self.permissions
        return collaborators.collaborates(
            db, row["id"], caller.account_id, viewer_of(caller, permission), roles or ROLES
        )


def own_memberships(db: Connection, caller: Caller, permission: str) -> OwnSelection:
    """Return the caller's own memberships, as far as the token may know them.

    A token that is only valid where its app is installed needs the permission there.
    """
    limit = caller.where_installed
    if limit is None:
        return own_accounts(db, caller)
    among = limit.organizations_with(db, caller.account_id, permission)
    return replace(own_accounts(db, caller), among=among)


def own_accounts(db: Connection, caller: Caller) -> OwnSelection:
    """Return the caller's account and organizations, as far as the token may know them.

    If the token is only valid where its app is installed, the app's own installations may still be
    known.
    """
    refusing = [] if caller.token_id is None else administrators.refusing(db, caller.token_id)
    among = None if caller.scoped_to is None else [caller.scoped_to]
    return OwnSelection(caller.account_id, among=among, refusing=refusing)


def check_organization(
    db: Connection, caller: Caller, org: Row, permissions: Iterable[Permission] = ()
) -> None:
    """Check that the token is valid for an organization.

    A token with permissions needs one of `permissions` there, if there are any. Raises Missing,
    Forbidden or SignOnRequired.
    """
    caller = caller.within(db, org["id"])
    if not caller.reaches_account(org["id"]):
        raise Missing("organization")
    check_permission(permissions, caller)
    check_sign_on(db, caller, org["id"], org["login"])


def _lacks_scope(access: OnOrg, caller: Caller) -> bool:
    return caller.has_scopes and not covers(caller, access.accepted)


def may_do(
    db: Connection, caller: Caller | None, org: Row, permission: Permission, scope: str
) -> str | None:
    """Return the caller's role in an organization, if the token may use it; otherwise None.

    A token needs the permission or the scope, and the organization's single sign-on.
    """
    caller = caller and caller.within(db, org["id"])
    if caller is None or not caller.reaches_account(org["id"]):
        return None
    if not suffices((permission,), caller, (scope,)):
        return None
    if not is_signed_on(db, caller, org["id"]):
        return None
    return organizations.role_of(db, org, caller.account)


def on_org(
    permission: str,
    level: str,
    *,
    owner: bool = False,
    known: bool = False,
    scopes: tuple[str, ...],
    public_scopes: tuple[str, ...] = (),
    kinds: tuple[str, ...] = ALL,
) -> OnOrg:
    """Return access to a resource of an organization, for its members or only its owners."""
    return OnOrg(
        permissions=((permission, level),),
        owner=owner,
        known=known,
        scopes=scopes,
        public_scopes=public_scopes,
        kinds=kinds,
    )
