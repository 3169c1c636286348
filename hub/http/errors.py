"""What can go wrong in the hub, and the one table from kinds of error to statuses.

HubError
  Malformed        400  it cannot be read
  Unauthenticated  401  nobody, or nobody known, asks
  Forbidden        403  the one who asks may not
    Exhausted           it spent its rate limit
    TooFast             it asks too much at a time
    Blocked             too many of its credentials were wrong
    Unsigned            its token was not let in by an organization with single sign-on
  Absent           404  what its body names is not there
  NotAllowed       405  this resource cannot be asked for that
  NotAcceptable    406  the resource has no such form
  TooSlow          408  its head or its body did not come in time
  TooLarge         413  it is beyond a bound
    Endless             so far that its end is not waited for
  LongURL          414  its URL is beyond a bound
  Unsupported      415  no form is asked for that is spoken here
  Rejected         422  it can be read, and cannot be taken
  LongHead         431  its headers are beyond a bound
Moved         301, 307  it is elsewhere
ClientGone              nobody is there to be answered
WriteNeeded             it is asked for where nothing can be written

The store's kinds are in `store.errors`.
"""

import logging
from collections.abc import Sequence
from typing import Any

from hub.http.response import Header, Response, header, json_response
from hub.http.throttled_log import ThrottledLog
from store.errors import Busy, Conflict, Gone, Invalid, Missing, Unavailable

log = logging.getLogger("tocsin.hub")
retry_after = ThrottledLog(log)


class HubError(Exception):
    """Base of the errors that the hub raises on purpose; `errors` are details for the client, and
    `headers` go with the answer.
    """

    def __init__(
        self,
        message: str,
        errors: Sequence[dict[str, Any]] = (),
        headers: Sequence[Header] = (),
    ) -> None:
        super().__init__(message)
        self.errors = list(errors)
        self.headers = list(headers)


class Malformed(HubError):
    """It cannot be read."""


class Unauthenticated(HubError):
    """Nobody, or nobody known, asks."""


class Forbidden(HubError):
    """The one who asks may not."""


class Exhausted(Forbidden):
    """It spent its rate limit; `headers` tell which, and when there is more."""

    def __init__(self, message: str, headers: Sequence[Header]) -> None:
        super().__init__(message, headers=headers)


class TooFast(Forbidden):
    """It asks too much at a time; it may ask again in `seconds`."""

    def __init__(self, seconds: int, headers: Sequence[Header]) -> None:
        seconds = max(1, seconds)
        super().__init__(
            "You have exceeded a secondary rate limit."
            f" Please wait {_span(seconds)} before you try again.",
            headers=[*headers, header("Retry-After", str(seconds))],
        )


class Blocked(Forbidden):
    """Too many of its credentials were wrong."""

    def __init__(self) -> None:
        super().__init__("Maximum number of login attempts exceeded. Please try again later.")


class SignOnRequired(Forbidden):
    """Its token was not let in by an organization (a login) with single sign-on."""

    def __init__(self, organization: str) -> None:
        super().__init__(
            "Resource protected by organization SAML enforcement. You must grant your token access"
            " to this organization."
        )
        self.organization = organization


class NotFound(HubError):
    """What its body names is not there."""


class NotAllowed(HubError):
    """This resource, unlike others of its kind, cannot be asked for that."""


class NotAcceptable(HubError):
    """The resource has no such form."""


class LongURL(HubError):
    """Its URL is beyond a bound."""


class LongHead(HubError):
    """Its headers are beyond a bound."""


class Unsupported(HubError):
    """No form is asked for that is spoken here."""


class TooSlow(HubError):
    """Its head or its body did not come in time."""


class TooLarge(HubError):
    """It is beyond a bound."""


class BodyTooLong(TooLarge):
    """It is so far beyond a bound that its end is not waited for."""


class Rejected(HubError):
    """It can be read, and cannot be taken."""


class MovedPermanently(Exception):
    """It is at `url` now."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class ClientGone(Exception):
    """Nobody is there to be answered."""


class WriteRequired(Exception):
    """What is asked for has to be made first, in a transaction that can."""


STATUSES: dict[type[Exception], int] = {
    Malformed: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    Missing: 404,
    NotFound: 404,
    NotAllowed: 405,
    NotAcceptable: 406,
    TooSlow: 408,
    Conflict: 409,
    Gone: 410,
    TooLarge: 413,
    LongURL: 414,
    Unsupported: 415,
    Invalid: 422,
    Rejected: 422,
    LongHead: 431,
    Busy: 503,
    Unavailable: 503,
}
CLOSE: Header = (b"connection", b"close")
BEARER: Header = header("WWW-Authenticate", 'Bearer realm="tocsin"')
HEADERS: dict[type[Exception], tuple[Header, ...]] = {
    Unauthenticated: (BEARER,),
    # It must tell what is allowed: nothing is.
    NotAllowed: (header("Allow", ""),),
    TooSlow: (CLOSE,),
    BodyTooLong: (CLOSE,),
    Busy: (header("Retry-After", "1"),),
    Unavailable: (header("Retry-After", "5"),),
}


def error_response(error: Exception, documentation_url: str, request_id: str) -> Response:
    """The answer to an error: the API's error body; nothing internal, whatever happened."""
    status = status_of(error)
    content: dict[str, Any] = {"message": message_of(error, status, request_id)}
    details = _details(error)
    if details:
        content["errors"] = details
    if status == 503:
        content["code"] = "unavailable"
    content |= {"documentation_url": documentation_url, "status": str(status)}
    return json_response(status, content, headers_of(error))


def headers_of(error: Exception) -> Sequence[Header]:
    """The headers that go with the answer to an error: its own, or those of its kind."""
    own: Sequence[Header] = getattr(error, "headers", ())
    return own or next((HEADERS[kind] for kind in type(error).mro() if kind in HEADERS), ())


def status_of(error: Exception) -> int:
    """The status that an error is answered with."""
    return next((STATUSES[kind] for kind in type(error).mro() if kind in STATUSES), 500)


def moved_response(error: MovedPermanently, method: str, documentation_url: str) -> Response:
    """The answer to what is elsewhere: for good to a question, for now to a change, so that it is
    asked for again with its body.
    """
    asked = method in ("GET", "HEAD")
    content = {
        "message": "Moved Permanently" if asked else "Temporary Redirect",
        "url": error.url,
        "documentation_url": documentation_url,
    }
    return json_response(301 if asked else 307, content, [header("Location", error.url)])


def message_of(error: Exception, status: int, request_id: str) -> str:
    """What a client is told of an error; what is nobody's business is logged."""
    if status == 500:
        log.error("request %s failed", request_id, exc_info=error)
        return f"Server Error. Its cause is in the log under the request id {request_id}."
    if isinstance(error, Missing):
        return "Not Found"
    if isinstance(error, Unavailable):
        retry_after.warning("request %s was put off: %s", request_id, error)
        return "The service cannot get at its data right now. Please try again in a moment."
    if isinstance(error, Invalid) and error.field is not None:
        return "Validation Failed"
    return str(error)


def _details(error: Exception) -> list[dict[str, Any]]:
    if isinstance(error, HubError):
        return error.errors
    if not isinstance(error, Invalid) or error.field is None:
        return []
    detail = {"resource": error.resource, "field": error.field, "code": error.code}
    # The code says it all for a field that is not there.
    return [detail if error.code == "missing_field" else {**detail, "message": str(error)}]


def _span(seconds: int) -> str:
    """A time in words: never shorter, and in the largest unit of which there are two."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{-(-seconds // length)} {unit}"
    return "1 second" if seconds == 1 else f"{seconds} seconds"
