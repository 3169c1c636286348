"""Access to hooks, and the declaration of operations that hooks of several targets have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from hub.auth.app_access import as_integration
from hub.auth.credentials import Caller
from hub.auth.hook_rights import READ, WRITE
from hub.auth.organization_access import OnOrg
from hub.auth.repository_access import OnRepo
from hub.rest.group import OperationGroup
from hub.rest.operation import OperationOptions
from hub.rest.resolve import Loader
from store import Connection, Row
from store.accounts import organizations
from store.errors import Missing
from store.hooks import hooks

F = TypeVar("F", bound=Callable[..., Any])

ITSELF = as_integration()


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOrganizationHooks(OnOrg):
    """Ownership of an organization, for access to its hooks.

    An OAuth application sees only the hooks that were created with its tokens, and no other token
    sees these.
    """

    def reach(self, db: Connection, caller: Caller | None, first: Row, last: Row) -> None:
        """Check that the caller sees the hook that the path names, if any. Raises Missing."""
        if last is first:
            return
        hook = last if "oauth_app_id" in last else hooks.by_id(db, last["hook_id"])
        if hook is None or hook["oauth_app_id"] != creator_of(caller):
            raise Missing("hook")


def creator_of(caller: Caller | None) -> int | None:
    """Return the id of the OAuth application that the caller's token belongs to, or None."""
    return caller.app_id if caller is not None and caller.kind == "oauth" else None


def _on_organization_hooks(level: str) -> OnOrganizationHooks:
    return OnOrganizationHooks(
        permissions=(("organization_hooks", level),),
        owner=True,
        hidden=True,
        scopes=("admin:org_hook",),
    )


OF_ORGANIZATION = _on_organization_hooks("read")
TO_ORGANIZATION = _on_organization_hooks("write")

HookAccess = tuple[OnRepo, OnOrganizationHooks]
"""The access to a hook of a repository, and to one of an organization."""
IN_REPOSITORY = "/repos/{owner}/{repo}/hooks/{hook_id}"
IN_ORGANIZATION = "/orgs/{org}/hooks/{hook_id}"
READ_HOOK: HookAccess = (READ, OF_ORGANIZATION)
WRITE_HOOK: HookAccess = (WRITE, TO_ORGANIZATION)


class HookOperations:
    """Declares operations that hooks of repositories and of organizations have alike.

    `loaders` are for the parameters after the hook's own path.
    """

    def __init__(self, **loaders: Loader) -> None:
        self.group = OperationGroup("repos", hook_id=hooks.get, **loaders)
        self._of_organizations = self.group.mount(
            "orgs", org=organizations.by_login, hook_id=hooks.get_of_organization, **loaders
        )

    def __call__(
        self, line: str, access: HookAccess, **details: Unpack[OperationOptions]
    ) -> Callable[[F], F]:
        """Declare the decorated function. `line` is a method, and the path after the hook's own."""
        method, _, path = line.partition(" ")
        of_repository = self.group(f"{method} {IN_REPOSITORY}{path}", access[0], **details)
        of_organization = self._of_organizations(
            f"{method} {IN_ORGANIZATION}{path}", access[1], **details
        )
        return lambda function: of_repository(of_organization(function))
