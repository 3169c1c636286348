"""The rights that tokens have: their kinds, scopes and permissions, and the checks of these."""

from collections.abc import Iterable

from hub.auth.credentials import Caller
from hub.http.errors import Forbidden, SignOnRequired
from store import Connection, Row
from store.accounts import sso, tokens
from store.accounts.permissions import includes
from store.errors import Missing

RESOURCE = "Resource not accessible by "
KINDS = {
    "personal": "personal access token",
    "fine_grained": "personal access token",
    "oauth": "OAuth app",
    "app_user": "integration",
    "installation": "integration",
}
"""The token kinds by the names that clients know."""
SYNONYMS = {"webhooks": "repository_hooks"}
"""Permissions that apps know by another name."""

ALL = tuple(tokens.KINDS)
USERS = tuple(kind for kind in ALL if kind != "installation")
"""Token kinds that act for a user."""
CLASSIC = ("personal", "oauth")
"""Token kinds that have scopes."""

Permission = tuple[str, str]


def check_kind(kinds: Iterable[str], caller: Caller) -> None:
    """Check that the operation accepts this kind of token. Raises Forbidden if not."""
    if caller.kind not in kinds and caller.kind in ALL:
        raise Forbidden(not_accessible(caller))


def check_token(permissions: Iterable[Permission], caller: Caller, scopes: tuple[str, ...]) -> None:
    """Check that the token has one of the permissions or scopes. Raises Forbidden if not."""
    if caller.has_scopes:
        check_scopes(caller, scopes)
    elif not suffices(permissions, caller, scopes):
        raise Forbidden(not_accessible(caller))


def check_permission(permissions: Iterable[Permission], caller: Caller) -> None:
    """Check that a token with permissions has one of these. Raises Forbidden if not."""
    wanted = [*permissions]
    if wanted and not caller.has_scopes and not suffices(wanted, caller, ()):
        raise Forbidden(not_accessible(caller))


def check_scopes(caller: Caller, scopes: tuple[str, ...]) -> None:
    """Check that the token has or includes one of these scopes. Raises Forbidden if not."""
    if not covers(caller, scopes):
        raise Forbidden(f"This needs a token with one of these scopes: {', '.join(scopes)}.")


def suffices(permissions: Iterable[Permission], caller: Caller, scopes: tuple[str, ...]) -> bool:
    """Return whether the token has one of the permissions or scopes."""
    if caller.has_scopes:
        return covers(caller, scopes)
    return any(
        includes(caller.permissions, known_as, level)
        for name, level in permissions
        for known_as in (name, SYNONYMS.get(name, name))
    )


def covers(caller: Caller, scopes: Iterable[str]) -> bool:
    """Return whether the token has or includes one of these scopes."""
    return any(tokens.implies(caller.scopes, scope) for scope in scopes)


def not_accessible(caller: Caller) -> str:
    """Return the message for a caller whose kind of token has no access."""
    return RESOURCE + KINDS[caller.kind]


def check_repository(
    db: Connection, caller: Caller, repo: Row, what: str, permissions: Iterable[Permission] = ()
) -> None:
    """Check that the token is valid for the repository to which something of the user's belongs.

    A token with permissions needs one of `permissions` there, if there are any. Raises Missing for
    `what` if the token is limited to other repositories, Forbidden if it has no permission, and
    SignOnRequired if the single sign-on of the repository's owner has not authorized it.
    """
    caller = caller.within(db, repo["owner_id"])
    if not caller.reaches(repo):
        raise Missing(what)
    check_permission(permissions, caller)
    check_sign_on(db, caller, repo["owner_id"], repo["owner"])


def check_sign_on(db: Connection, caller: Caller, organization_id: int, login: str) -> None:
    """Check that an organization's single sign-on lets the token in. Raises SignOnRequired."""
    if not is_signed_on(db, caller, organization_id):
        raise SignOnRequired(login)


def is_signed_on(db: Connection, caller: Caller, organization_id: int) -> bool:
    """Return whether an organization's single sign-on, if there is one, lets the token in."""
    token_id = caller.sign_on_token_id
    return token_id is None or sso.permits(db, organization_id, token_id)
