"""The access of senders to the repositories for which they send events."""

from hub.auth import repository_access
from hub.auth.credentials import Caller
from hub.auth.repository_access import on_repo
from hub.auth.token_rights import check_kind, check_token
from store import Connection, Row
from store.clock import SECOND
from store.errors import Missing
from store.repositories import repository_names

PUSH = on_repo("contents", "write", role="write", scopes=("repo",), public_scopes=("public_repo",))


def is_slow(asked_at: int, now: int) -> bool:
    """Return whether a body took so long that the right to send it must be checked again.

    Somebody may have revoked the token meanwhile. Both times are in microseconds.
    """
    return not 0 <= now - asked_at < SECOND


def check_push_token(caller: Caller) -> None:
    """Raise Forbidden if the rights of the caller's token let it push to no repository."""
    check_kind(PUSH.kinds, caller)
    check_token(PUSH.permissions, caller, PUSH.accepted)


def repository_to_push(db: Connection, caller: Caller, owner: str, name: str) -> Row:
    """Return the repository. Raises Missing or Forbidden if the caller may not push to it."""
    repo = repository_names.find(db, owner, name)
    if repo is None:
        raise Missing("repository")
    repository_access.check(db, PUSH, caller, repo)
    return repo
