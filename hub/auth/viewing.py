"""The viewer of a list of repositories or of their contents, and of a repository in a body."""

from hub.auth import access
from hub.auth.access import on_repo
from hub.auth.credentials import Caller
from hub.http.errors import Forbidden
from store import Connection, Row
from store.accounts import organizations, tokens
from store.accounts.viewers import RepositoryViewer
from store.errors import Missing


def viewer_of(caller: Caller | None, permission: str = "metadata") -> RepositoryViewer:
    """Return the caller as a viewer of repositories.

    The token shows private repositories if it has the scope `repo` or this permission.
    """
    if caller is None:
        return RepositoryViewer(None)
    return RepositoryViewer(
        caller.account,
        private=tokens.implies(caller.scopes, "repo")
        if caller.has_scopes
        else permission in caller.permissions,
        token_id=caller.sign_on_token_id,
        target_id=caller.target_id,
        repositories=caller.repositories,
    )


def may_read(db: Connection, caller: Caller | None, repo: Row, permission: str) -> bool:
    """Return whether the caller could read this part of a repository at the repository's own path.

    It is the check for a repository that a body or a query names. Its answer must not say why a
    repository is refused: a refused one is as one that does not exist.
    """
    try:
        access.check(db, on_repo(permission, "read").or_anyone(), caller, repo)
    except (Missing, Forbidden):
        return False
    return True


def team_viewer(db: Connection, caller: Caller | None, organization_id: int) -> Row:
    """Return the caller as a viewer of an organization's teams.

    It has the account's `id`, and whether it is an `owner`.
    """
    if caller is None:
        return {"id": 0, "owner": False}
    role = organizations.role_of(db, {"id": organization_id}, caller.account)
    return {"id": caller.account_id, "owner": role == "admin"}
