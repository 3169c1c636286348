"""The viewer of a list of repositories or of their contents."""

from hub.auth.credentials import Caller
from store.accounts import tokens
from store.accounts.viewers import RepositoryViewer


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
        # An installation's token needs no single sign-on, as it is the organization's own.
        token_id=None if caller.kind == "installation" else caller.token_id,
        target_id=caller.target_id,
        repositories=caller.repositories,
    )
