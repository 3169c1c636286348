"""The beginning of every request of the API: who asks, what it costs, which version it is for.

All of it in one transaction with what follows. It may be run again with that, and is charged once.
"""

from typing import NamedTuple

from hub import auth, media, versions
from hub.access import Access
from hub.auth import Caller
from hub.call import Call
from hub.context import House
from hub.errors import Blocked, Forbidden, HubError, Unauthenticated
from hub.limits import READ
from hub.quotas import Subject
from store import Connection, Row

NO_USER_AGENT = (
    "Request forbidden by administrative rules. Please make sure your request has a User-Agent"
    " header."
)


class Who(NamedTuple):
    """Who asks: a user, an application, or nobody with a name."""

    caller: Caller | None
    app: Row | None


class Cost(NamedTuple):
    """What a request counts for: a category of rate limits (none: it is free), and points."""

    category: str = "core"
    points: int = READ
    created: bool = False


async def meet(house: House, call: Call) -> None:
    """Find the user whose name and password came with the request."""
    try:
        login, password = auth.pair_of(call.headers)
        found = house.vocabulary.header(call.headers, b"otp")
        code = None if found is None else found[1].decode("latin-1").strip()
        address = house.clients.address(call.scope)
        call.person = await house.passwords.check(login, password, code, address)
    except HubError as error:
        call.person = error


def enter(
    db: Connection,
    house: House,
    call: Call,
    access: Access,
    cost: Cost,
    forms: tuple[str, ...] | None = (),
) -> Who:
    """Who asks; Unauthenticated, Forbidden, Exhausted, TooFast; Malformed for an unknown version,
    NotAcceptable and Unsupported for a form of answer other than `forms` of media types (None:
    whatever it is).
    """
    refusal: HubError | None = None
    who = Who(None, None)
    call.credentials = access.credentials
    try:
        who = _identify(db, house, call, access)
    except HubError as error:
        refusal = error
    if call.ticket is None and house.limits is not None:
        refusal = _charge(db, house, call, who, cost, refusal)
    found = house.vocabulary.header(call.headers, b"api-version")
    if found is None:
        call.version = versions.DEFAULT
    else:
        name, given = found[0].decode().title(), found[1].decode("latin-1").strip()
        call.version = versions.chosen(given, name)
    if refusal is not None:
        raise refusal
    if forms is not None:
        call.media = media.wanted(call.text(b"accept") or "", forms)
    return who


def _identify(db: Connection, house: House, call: Call, access: Access) -> Who:
    if house.settings.require_user_agent and not call.headers.get(b"user-agent"):
        raise Forbidden(NO_USER_AGENT)
    if access.credentials == "password":
        if isinstance(call.person, HubError):
            raise call.person
        return Who(call.person, None)
    if access.credentials == "app":
        return Who(None, auth.application(db, *auth.pair_of(call.headers)))
    token = auth.token_of(call.headers)
    if token is not None:
        return Who(auth.authenticate(db, token), None)
    if not access.anyone:
        raise Unauthenticated("Requires authentication")
    return Who(None, None)


def subject_of(house: House, call: Call, who: Who) -> Subject:
    """Whom a request is counted for."""
    if who.app is not None:
        return Subject("application", str(who.app["id"]))
    if who.caller is None:
        return Subject("address", house.clients.address(call.scope))
    kind = "installation" if who.caller.kind == "installation" else "user"
    return Subject(kind, str(who.caller.account_id))


def _charge(
    db: Connection, house: House, call: Call, who: Who, cost: Cost, refusal: HubError | None
) -> HubError | None:
    limits = house.limits
    assert limits is not None, "asked for where there are limits"
    subject = subject_of(house, call, who)
    if not cost.category:
        call.ticket = limits.look(db, subject)
        return refusal
    call.ticket = limits.charge(
        db, subject, cost.category, points=cost.points, created=cost.created
    )
    is_bad = isinstance(refusal, Unauthenticated) and b"authorization" in call.headers
    if is_bad and call.person is None and limits.bad_token(db, subject):
        return Blocked()
    return refusal
