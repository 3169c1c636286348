"""Who looks at a list of repositories, or of what is in them."""

from hub.auth.credentials import Caller
from store.accounts import tokens
from store.accounts.viewers import RepositoryViewer


def viewer_of(caller: Caller | None, permission: str = "metadata") -> RepositoryViewer:
    """The caller, whose token shows private repositories where it has the scope for them, or this
    permission.
    """
    if caller is None:
        return RepositoryViewer(None)
    return RepositoryViewer(
        caller.account,
        private=tokens.implies(caller.scopes, "repo")
        if caller.has_scopes
        else permission in caller.permissions,
        # An installation's token is its organization's own.
        token_id=None if caller.kind == "installation" else caller.token_id,
        target_id=caller.target_id,
        repositories=caller.repositories,
    )
