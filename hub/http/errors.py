"""The hub's errors, and the one table that maps kinds of errors to statuses.

HubError
 Malformed         400  the request cannot be parsed
 Unauthenticated   401  credentials are missing or wrong
 Forbidden         403  the caller lacks permission
  Exhausted             the rate limit is used up
  TooFast               too many requests at a time
  Blocked               too many wrong credentials
  SignOnRequired        the organization's single sign-on has not authorized the token
 NotFound          404  something named in the body does not exist
 NotServed         404  the platform has such a path, and this server does not
 NotAllowed        405  the resource does not support the method
 NotAcceptable     406  the resource has no such form
 TooSlow           408  the head or the body did not arrive in time
 TooLarge          413  the body is beyond a limit
  BodyTooLong           the body is too long to read and discard
 LongURL           414  the URL is beyond a limit
 Unsupported       415  no accepted media type is known, or the form of the body is not
 Rejected          422  the request can be parsed but is not valid
 LongHead          431  the headers are beyond a limit
MovedPermanently  301, 307  the resource is at another URL
ClientGone               the client has disconnected
WriteRequired            the handler needs a write transaction

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
MISSING = "Not Found"


class HubError(Exception):
    """Base class of the errors that the hub raises on purpose.

    `errors` are details for the client; `headers` are added to the response.
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
    """The request cannot be parsed."""


class Unauthenticated(HubError):
    """Credentials are missing or wrong."""


class Forbidden(HubError):
    """The caller lacks permission."""


class Exhausted(Forbidden):
    """The rate limit is used up; `headers` name the limit and the time of its reset."""

    def __init__(self, message: str, headers: Sequence[Header]) -> None:
        super().__init__(message, headers=headers)


class TooFast(Forbidden):
    """Too many requests arrive at a time; the client may retry in `seconds`."""

    def __init__(self, seconds: int, headers: Sequence[Header]) -> None:
        seconds = max(1, seconds)
        super().__init__(
            "You have exceeded a secondary rate limit."
            f" Please wait {_span(seconds)} before you try again.",
            headers=[*headers, header("Retry-After", str(seconds))],
        )


class Blocked(Forbidden):
    """Too many wrong credentials were sent."""

    def __init__(self) -> None:
        super().__init__("Maximum number of login attempts exceeded. Please try again later.")


class SignOnRequired(Forbidden):
    """The single sign-on of an organization (a login) has not authorized the token."""

    def __init__(self, organization: str) -> None:
        super().__init__(
            "Resource protected by organization SAML enforcement. You must grant your token access"
            " to this organization."
        )
        self.organization = organization


class NotFound(HubError):
    """Something named in the body does not exist."""


class NotServed(HubError):
    """The platform has such a path, and this server does not. `place` is where the manual says so.

    Clients compare the message, so it is the one for other missing things.
    """

    def __init__(self, place: str) -> None:
        super().__init__(MISSING)
        self.place = place


class NotAllowed(HubError):
    """The resource, unlike others of its kind, does not support the method."""


class NotAcceptable(HubError):
    """The resource does not have the requested form."""


class LongURL(HubError):
    """The URL is beyond a limit."""


class LongHead(HubError):
    """The headers are beyond a limit."""


class Unsupported(HubError):
    """None of the accepted media types is known, or the form of the body is not."""


class TooSlow(HubError):
    """The head or the body did not arrive in time."""


class TooLarge(HubError):
    """The request is beyond a limit."""


class BodyTooLong(TooLarge):
    """The body is too long to read and discard."""


class Rejected(HubError):
    """The request can be parsed but is not valid."""


class MovedPermanently(Exception):
    """The resource is at `url` now."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class ClientGone(Exception):
    """The client has disconnected, so that no response can be sent."""


class WriteRequired(Exception):
    """The handler needs a write transaction, but runs in a read transaction."""


STATUSES: dict[type[Exception], int] = {
    Malformed: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    Missing: 404,
    NotFound: 404,
    NotServed: 404,
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
    # RFC 9110 requires Allow with a 405; no method is allowed.
    NotAllowed: (header("Allow", ""),),
    TooSlow: (CLOSE,),
    BodyTooLong: (CLOSE,),
    Busy: (header("Retry-After", "1"),),
    Unavailable: (header("Retry-After", "5"),),
}


def error_response(error: Exception, documentation_url: str, request_id: str) -> Response:
    """Return the API's response to an error. It reveals nothing internal."""
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
    """Return the headers for an error's response: its own, or otherwise those for its kind."""
    own: Sequence[Header] = getattr(error, "headers", ())
    return own or next((HEADERS[kind] for kind in type(error).mro() if kind in HEADERS), ())


def status_of(error: Exception) -> int:
    return next((STATUSES[kind] for kind in type(error).mro() if kind in STATUSES), 500)


def moved_response(error: MovedPermanently, method: str, documentation_url: str) -> Response:
    """Return the redirect to the new URL: 301 for GET and HEAD, otherwise 307.

    A 307 makes the client send the method and the body again.
    """
    asked = method in ("GET", "HEAD")
    content = {
        "message": "Moved Permanently" if asked else "Temporary Redirect",
        "url": error.url,
        "documentation_url": documentation_url,
    }
    return json_response(301 if asked else 307, content, [header("Location", error.url)])


def message_of(error: Exception, status: int, request_id: str) -> str:
    """Return the message for the client. Internal details go to the log instead."""
    if status == 500:
        log.error("request %s failed", request_id, exc_info=error)
        return f"Server Error. Its cause is in the log under the request id {request_id}."
    if isinstance(error, Missing):
        return MISSING
    if isinstance(error, Unavailable):
        retry_after.warning("request %s was answered 503: %s", request_id, error)
        return "The service cannot reach its data right now. Please try again in a moment."
    if isinstance(error, Invalid) and error.field is not None:
        return "Validation Failed"
    return str(error)


def _details(error: Exception) -> list[dict[str, Any]]:
    if isinstance(error, HubError):
        return error.errors
    if not isinstance(error, Invalid) or error.field is None:
        return []
    detail = {"resource": error.resource, "field": error.field, "code": error.code}
    # A missing field needs no message beside the code.
    return [detail if error.code == "missing_field" else {**detail, "message": str(error)}]


def _span(seconds: int) -> str:
    """Format a time, rounded up, in the largest unit of which there are at least two."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{-(-seconds // length)} {unit}"
    return "1 second" if seconds == 1 else f"{seconds} seconds"
