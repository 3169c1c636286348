"""The viewer of a list of repositories or of their contents, and of a repository in a body."""

from hub.auth import repository_access
from hub.auth.credentials import Caller
from hub.auth.repository_access import on_repo
from hub.http.errors import Forbidden
from store import Connection, Row
from store.accounts import organizations, tokens
from store.accounts.app_rights import NOWHERE, WhereInstalled
from store.accounts.permissions import METADATA
from store.accounts.viewers import RepositoryViewer
from store.errors import Missing


def viewer_of(caller: Caller | None, permission: str = "metadata") -> RepositoryViewer:
    """Return the caller as a viewer of repositories.

    The token shows private repositories if it has the scope `repo` or this permission. If it is
    only valid where its app is installed, and the list is of more than one account, the permission
    is one that every installation has.
    """
    if caller is None:
        return RepositoryViewer(None)
    if caller.where_installed is not None and caller.target_id == NOWHERE.target_id:
        return _covered(caller, caller.where_installed, permission)
    return RepositoryViewer(
        caller.account,
        private=tokens.implies(caller.scopes, "repo")
        if caller.has_scopes
        else permission in caller.permissions,
        token_id=caller.sign_on_token_id,
        target_id=caller.target_id,
        repositories=caller.repositories,
    )


def _covered(caller: Caller, limit: WhereInstalled, permission: str) -> RepositoryViewer:
    return RepositoryViewer(
        caller.account,
        private=permission in METADATA,
        token_id=caller.sign_on_token_id,
        target_id=limit.target_id,
        repositories=limit.repositories,
        covering_app=limit.app_id,
    )


def may_read(db: Connection, caller: Caller | None, repo: Row, permission: str) -> bool:
    """Return whether the caller could read this part of a repository at the repository's own path.

    It is the check for a repository that a body or a query names. Its answer must not say why a
    repository is refused: a refused one is as one that does not exist.
    """
    try:
        repository_access.check(db, on_repo(permission, "read").or_anyone(), caller, repo)
    except (Missing, Forbidden):
        return False
    return True


def team_viewer(db: Connection, caller: Caller | None, organization_id: int) -> Row:
    """Return the caller as a viewer of an organization's teams.

    It has the account's `id`, and whether it is an `owner`.
    """
    caller = caller and caller.within(db, organization_id)
    if caller is None or not caller.reaches_account(organization_id):
        return {"id": 0, "owner": False}
    role = organizations.role_of(db, {"id": organization_id}, caller.account)
    return {"id": caller.account_id, "owner": role == "admin"}
