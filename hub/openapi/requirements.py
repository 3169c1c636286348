"""The requirements for a caller of an operation, in sentences."""

from hub.auth.access import Access
from hub.auth.token_rights import ALL, CLASSIC

# By the credentials of an access. For the others, the kinds of tokens say it.
CREDENTIALS = {
    "password": "Credentials: the user's name and password, by Basic authentication.",
    "app": "Credentials: the app's client id and client secret, by Basic authentication.",
    "jwt": "Credentials: a JSON web token of the app.",
}
# The kinds of tokens that have permissions.
HOLDERS = {"fine-grained": {"fine_grained"}, "app": {"app_user", "installation"}}


def requirements(access: Access) -> str:
    """Return the requirements for a caller, one sentence each."""
    said = [CREDENTIALS.get(access.credentials), access.requirement, _kinds(access)]
    said += [_permissions(access), _scopes(access), _anybody(access)]
    return " ".join(one for one in said if one is not None)


def _kinds(access: Access) -> str | None:
    if access.kinds in ((), ALL):
        return None
    return f"Kinds of tokens: {', '.join(access.kinds)}."


def _permissions(access: Access) -> str | None:
    holders = [name for name, kinds in HOLDERS.items() if not kinds.isdisjoint(access.kinds)]
    if not access.permissions or not holders:
        return None
    held = " or ".join(f"{name} ({level})" for name, level in access.permissions)
    return f"Permission of {' and '.join(holders)} tokens: {held}."


def _scopes(access: Access) -> str | None:
    if not access.accepted or set(CLASSIC).isdisjoint(access.kinds):
        return None
    return f"Scope of classic tokens: {' or '.join(access.accepted)}."


def _anybody(access: Access) -> str | None:
    if not access.anyone:
        return None
    what = "this" if access.role is None else "this for public repositories"
    return f"Anybody may use {what}, without a token too."
