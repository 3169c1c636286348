"""The first steps of every API request: credentials, rate limits, API version.

They run in the same transaction as the rest of the request. If that transaction is run again, these
steps run again too, but the request is charged only once.
"""

from typing import NamedTuple

from hub.auth import app_jwt, credentials
from hub.auth.access import Access
from hub.auth.credentials import Caller
from hub.auth.quotas import RateSubject
from hub.auth.rate_limits import READ
from hub.auth.token_rights import KINDS, RESOURCE
from hub.http import media
from hub.http.errors import Blocked, Forbidden, HubError, Unauthenticated
from hub.rest import versions
from hub.rest.context import Services
from hub.rest.request import Request
from hub.rest.vocabulary import written
from store import Connection, Row
from store.errors import StoreError

NO_USER_AGENT = (
    "Request forbidden by administrative rules. Please make sure your request has a User-Agent"
    " header."
)


class Principal(NamedTuple):
    """The authenticated user or application; both are None for an anonymous request."""

    caller: Caller | None
    app: Row | None


class RequestCost(NamedTuple):
    """The rate limit category that a request counts for (empty: none), and its price in points.

    A request without category and points is free. It counts for nothing, not even as a concurrent
    one.
    """

    category: str = "core"
    points: int = READ
    created: bool = False


async def authenticate_request(services: Services, request: Request) -> None:
    """Check the user name and password of the request, and set `request.person` to the result.

    If the credentials are wrong, `request.person` is the error, which is raised later.
    """
    try:
        login, password = credentials.pair_of(request.headers)
        found = services.vocabulary.header(request.headers, b"otp")
        code = None if found is None else found[1].decode("latin-1").strip()
        address = services.clients.address(request.scope)
        # Clients list their tokens and then make one, with the same code.
        spend = request.scope["method"] not in ("GET", "HEAD")
        request.person = await services.passwords.check(login, password, code, address, spend=spend)
    except HubError as error:
        request.person = error


def authorize_request(
    db: Connection,
    services: Services,
    request: Request,
    access: Access,
    cost: RequestCost,
    forms: tuple[str, ...] | None = (),
) -> Principal:
    """Authenticate the request, charge its rate limit, and negotiate version and media type.

    `forms` are the accepted media type parameters; None skips that negotiation.

    Raises Unauthenticated or Forbidden for bad credentials, Exhausted or TooFast beyond a rate
    limit, Blocked after too many wrong credentials, Malformed for an unknown version, and
    NotAcceptable or Unsupported for a media type.
    """
    refusal: HubError | None = None
    who = Principal(None, None)
    request.credentials = access.credentials
    try:
        who = _identify(db, services, request, access)
    except HubError as error:
        refusal = error
    request.caller_headers = () if who.caller is None else access.headers(who.caller)
    if request.rate_charge is None and services.limits is not None:
        refusal = _charge(db, services, request, who, cost, refusal)
    found = services.vocabulary.header(request.headers, b"api-version")
    if found is None:
        request.version = versions.DEFAULT
    else:
        name, given = written(found[0]), found[1].decode("latin-1").strip()
        request.version = versions.requested_version(given, name)
    if refusal is not None:
        raise refusal
    if forms is not None:
        request.media = media.negotiate(request.accept, forms)
    return who


def _identify(db: Connection, services: Services, request: Request, access: Access) -> Principal:
    if services.settings.require_user_agent and not request.headers.get(b"user-agent"):
        raise Forbidden(NO_USER_AGENT)
    is_unchecked = access.credentials == "all" and credentials.has_password(request.headers)
    if access.credentials == "none" or is_unchecked:
        return Principal(None, None)
    if access.credentials == "password":
        if isinstance(request.person, HubError):
            raise request.person
        return Principal(request.person, None)
    if access.credentials == "app":
        pair = credentials.pair_of(request.headers, credentials.ONLY_APP)
        return Principal(None, credentials.application(db, *pair))
    value = credentials.credential_of(request.headers)
    if access.credentials == "jwt":
        return Principal(None, app_jwt.authenticate_app(db, credentials.require(value)))
    if value is not None and app_jwt.has_form(value):
        return Principal(None, _app_anywhere(db, access, value))
    token = credentials.token_of(request.headers)
    if token is not None:
        return Principal(credentials.authenticate(db, token), None)
    if not access.anyone:
        raise Unauthenticated("Requires authentication")
    return Principal(None, None)


def _app_anywhere(db: Connection, access: Access, value: str) -> Row:
    """Return the app of a JSON web token. Raises Forbidden where only accounts have access."""
    app = app_jwt.authenticate_app(db, value)
    if access.credentials != "all":
        raise Forbidden(f"{RESOURCE}{KINDS['installation']}")
    return app


def subject_of(services: Services, request: Request, who: Principal) -> RateSubject:
    """Return the application, user, installation or address that a request is counted for."""
    if who.app is not None:
        return RateSubject("application", str(who.app["id"]))
    if who.caller is None:
        return RateSubject("address", services.clients.address(request.scope))
    if who.caller.installation_id is not None:
        return RateSubject("installation", str(who.caller.installation_id))
    kind = "installation" if who.caller.kind == "installation" else "user"
    return RateSubject(kind, str(who.caller.account_id))


def _charge(
    db: Connection,
    services: Services,
    request: Request,
    who: Principal,
    cost: RequestCost,
    refusal: HubError | None,
) -> HubError | None:
    limits = services.limits
    assert limits is not None, "called only if there are limits"
    subject = subject_of(services, request, who)
    request.rate_charge = limits.charge(
        db, subject, cost.category, points=cost.points, created=cost.created
    )
    is_bad = isinstance(refusal, Unauthenticated) and b"authorization" in request.headers
    if is_bad and request.person is None and has_too_many(db, services, request):
        return Blocked()
    return refusal


def has_too_many(db: Connection, services: Services, request: Request) -> bool:
    """Count a wrong token. Return whether its address had sent too many before."""
    if services.limits is None:
        return False
    request.counted = True
    subject = RateSubject("address", services.clients.address(request.scope))
    return services.limits.record_bad_token(db, subject)


async def count_wrong_token(services: Services, request: Request, error: Exception) -> Exception:
    """Count the token of a request if it was wrong and no rate limit has counted it.

    Return the error to answer: `error`, or Blocked after too many wrong tokens.
    """
    is_wrong = isinstance(error, Unauthenticated) and b"authorization" in request.headers
    # Administrators may have a valid token that does not suffice. `AdminAuth` counts itself.
    if not is_wrong or request.rate_charge is not None or request.credentials != "token":
        return error
    try:
        beyond = await services.store.read(has_too_many, services, request)
    except StoreError:
        # The token is wrong all the same.
        return error
    return Blocked() if beyond else error
