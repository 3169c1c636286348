"""Access to the hooks of a repository, of an organization, and of an app."""

from dataclasses import dataclass

from hub.auth.access import on_repo
from hub.auth.app_access import as_integration
from hub.auth.credentials import Caller
from hub.auth.organization_access import OnOrg
from hub.rest.group import OperationGroup
from store import Connection, Row
from store.accounts import organizations
from store.errors import Missing
from store.hooks import hooks

READ = on_repo("webhooks", "read", role="admin", scopes=("read:repo_hook", "repo"))
WRITE = on_repo("webhooks", "write", role="admin", scopes=("write:repo_hook", "repo"))

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


def hook_groups() -> tuple[OperationGroup, OperationGroup]:
    """Return a group for hooks of repositories, and one for hooks of organizations."""
    of_repositories = OperationGroup("repos", hook_id=hooks.get)
    return of_repositories, of_repositories.mount(
        "orgs", org=organizations.by_login, hook_id=hooks.get_of_organization
    )


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
