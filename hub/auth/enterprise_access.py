"""Access to operations on the enterprise that the path names first."""

from dataclasses import dataclass, replace
from typing import Self

from hub.auth.access import Access
from hub.auth.credentials import Caller
from hub.auth.token_rights import ALL, check_kind, check_token
from hub.http.errors import Forbidden
from store import Connection, Row
from store.enterprises import enterprises
from store.errors import Missing

NOT_AN_OWNER = "Must be an owner of the enterprise."
NO_MANAGER = "Must be an owner or a billing manager of the enterprise."


@dataclass(frozen=True, slots=True, kw_only=True)
class OnEnterprise(Access):
    """Membership of the enterprise, or `enterprise_role` in it: one of enterprises.ROLES.

    With `permitted`, a member's fine-grained token with the permission replaces the role.
    """

    enterprise_role: str = "member"
    permitted: bool = False

    def or_permitted(self) -> Self:
        """Return an access in which a fine-grained token with the permission needs no role."""
        return replace(self, permitted=True)

    @property
    def requirement(self) -> str:
        role = self.enterprise_role.replace("_", " ")
        instead = ", or a fine-grained token with the permission" if self.permitted else ""
        return f"Role in the enterprise: {role}{instead}."

    def see(self, db: Connection, caller: Caller | None, row: Row) -> None:
        """Check the caller's role and token.

        Raises Missing for everybody but members, and for tokens limited to one account;
        otherwise Forbidden.
        """
        assert caller is not None, "this access requires a token"
        role = enterprises.role_of(db, row, caller.account)
        if role is None or caller.target_id is not None:
            raise Missing("enterprise")
        check_kind(self.kinds, caller)
        check_token(self.permissions, caller, self.scopes)
        if self.permitted and caller.kind == "fine_grained":
            return
        if enterprises.ROLES.index(role) < enterprises.ROLES.index(self.enterprise_role):
            raise Forbidden(NOT_AN_OWNER if self.enterprise_role == "owner" else NO_MANAGER)


def on_enterprise(
    permission: str,
    level: str,
    *,
    role: str = "member",
    scopes: tuple[str, ...],
    kinds: tuple[str, ...] = ALL,
) -> OnEnterprise:
    """Return access to a resource of an enterprise, with this role or a higher one."""
    assert role in enterprises.ROLES, role
    return OnEnterprise(
        permissions=((permission, level),), enterprise_role=role, scopes=scopes, kinds=kinds
    )
