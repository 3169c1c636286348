"""The repositories and the organizations whose hooks a token may show in the dashboard."""

from collections.abc import Callable, Iterable

from hub.api.hooks.hook_access import OF_ORGANIZATION, creator_of
from hub.auth import token_rights
from hub.auth.access import Access
from hub.auth.credentials import Caller
from hub.auth.hook_rights import READ
from hub.http.errors import HubError
from store import Connection
from store.accounts import administrators
from store.errors import Missing


def repositories(db: Connection, caller: Caller, *also: Access) -> list[int] | None:
    """Return the ids of repositories, at most 5,000; None for all.

    Repositories are left out whose owner's single sign-on does not authorize the token, or where
    the token cannot give the access of `also`. The token of an OAuth application never gets None,
    because it may not see all hooks.
    """
    if not all(may(caller, one) for one in (READ, *also)):
        return []
    if _is_everywhere(caller):
        named = creator_of(caller) is not None
        return administrators.every_repository(db, caller.token_id, named=named)
    rows = administrators.repositories(db, caller.account_id, caller.token_id, caller.scoped_to)
    on = _within(db, caller, {row["owner_id"] for row in rows}, READ, *also)
    return [row["id"] for row in rows if (own := on.get(row["owner_id"])) and own.reaches(row)]


def hidden(db: Connection, caller: Caller) -> list[int]:
    """Return the organizations whose repositories are all that `repositories` leaves out.

    It is empty if `repositories` has another reason.
    """
    if creator_of(caller) is not None or not (may(caller) and _is_everywhere(caller)):
        return []
    return administrators.refusing(db, caller.token_id)


def organizations(db: Connection, caller: Caller) -> list[int]:
    """Return the ids of organizations.

    It is empty for OAuth applications, which see only some hooks of an organization.
    """
    if creator_of(caller) or not may(caller, OF_ORGANIZATION):
        return []
    if _is_everywhere(caller):
        return administrators.every_organization(db, caller.token_id)
    found = administrators.organizations(db, caller.account_id, caller.token_id, caller.scoped_to)
    on = _within(db, caller, found, OF_ORGANIZATION)
    return [one for one in found if one in on and on[one].reaches_account(one)]


def _within(
    db: Connection, caller: Caller, account_ids: Iterable[int], *wanted: Access
) -> dict[int, Caller]:
    """Return the caller with the token's rights on each account on which it can give access."""
    found = {one: caller.within(db, one) for one in account_ids}
    return {one: own for one, own in found.items() if all(may(own, each) for each in wanted)}


def _is_everywhere(caller: Caller) -> bool:
    """Return whether a token is a site administrator's, and not limited to some repositories."""
    return caller.site_admin and caller.target_id is None and caller.repositories is None


def may(caller: Caller, wanted: Access = READ) -> bool:
    """Return whether a token can give this access to anything."""
    return passes(check_covers, caller, wanted)


def check_covers(caller: Caller, wanted: Access) -> None:
    token_rights.check_kind(wanted.kinds, caller)
    token_rights.check_token(wanted.permissions, caller, wanted.scopes)


def passes(check: Callable[..., object], *given: object) -> bool:
    """Return whether a check raises neither Missing nor an error of the API."""
    try:
        check(*given)
    except (HubError, Missing):
        return False
    return True
