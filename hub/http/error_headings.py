"""Headings of the manual's page on errors, and which of them an error leads to."""

from typing import NamedTuple

from hub.http import errors
from hub.http.errors import status_of
from store.errors import Busy, Conflict, Gone, Invalid, Missing, Unavailable

ERRORS_PAGE = "/reference/errors"
OPERATIONS_PAGE = "/reference/operations"


class Heading(NamedTuple):
    """A heading with its text. A `general` one explains an error better than the operation's
    section does.
    """

    title: str
    text: str
    general: bool = False

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")


SERVER_ERROR = Heading(
    "Server error",
    "The server failed. The answer names the request id; the log has the cause under this id. "
    "Send the request again later. If the error stays, look into the log.",
    general=True,
)
UNAVAILABLE = Heading(
    "Unavailable",
    "The database cannot be reached or written at the moment, or the server has too much to do. "
    "Wait for the seconds in `Retry-After`, then send the same request again. Each such error has "
    "the member `code` with the value `unavailable`.",
    general=True,
)
VALIDATION = Heading(
    "Validation failed",
    "The server can read the request, but a value in it is not allowed. `message` says which. If "
    "there is a list `errors`, each member names a `resource`, a `field` and a `code`, and often "
    "has a `message` of its own. Correct the value and send the request again.",
)
HEADINGS: dict[type[Exception], Heading] = {
    errors.Malformed: Heading(
        "Malformed request",
        "The server cannot read the request: the JSON, a parameter or a header is broken. "
        "The message names the part. The same request fails again.",
    ),
    errors.Unauthenticated: Heading(
        "Authentication",
        "The request has no credentials, or the server does not know them. Send a token as "
        "`Authorization: Bearer TOKEN`. `tocsin token add` makes one. A token that has expired "
        "or was revoked does not work any more.",
        general=True,
    ),
    errors.Exhausted: Heading(
        "Rate limit",
        "The caller has used all requests of this window. `X-RateLimit-Reset` has the time, in "
        "seconds since 1970, at which the next window begins. `X-RateLimit-Remaining` counts down "
        "before that, so a client can slow down in time.",
        general=True,
    ),
    # Clients recognize the error by its anchor, which is the platform's: go-github for one.
    errors.TooFast: Heading(
        "Secondary rate limits",
        "The caller sends too many requests at once or in a minute, or creates too much content "
        "in a minute, an hour or a day. Wait for the seconds in `Retry-After`.",
        general=True,
    ),
    errors.Blocked: Heading(
        "Failed logins",
        "Too many tokens from this address were wrong, or too many passwords from there or for "
        "this user. For a while, the server answers 403 to each wrong token, and to all "
        "passwords, correct ones too. Correct tokens still work. Correct the client, then wait "
        "(setting `failed_login_seconds`).",
        general=True,
    ),
    errors.SignOnRequired: Heading(
        "Single sign-on",
        "The organization in the URL of `X-Service-SSO` requires single sign-on, and nobody has "
        "[authorized](../how-to/users-and-repositories.md#require-single-sign-on) the token for "
        "it.",
        general=True,
    ),
    errors.Forbidden: Heading(
        "Forbidden",
        "The server knows the caller, but the caller may not do this. The section of each "
        "[operation](operations.md) says which role, scope or permission it needs. "
        "`X-Accepted-OAuth-Scopes` names the scopes.",
    ),
    Missing: Heading(
        "Not found",
        "There is nothing at this path, or the caller may not see it. Private things answer 404 "
        "and not 403, so that nobody learns that they exist.",
    ),
    errors.NotServed: Heading(
        "Not served",
        "The platform has such a path, and this server does not. The page "
        "[Not served](not-served.md) says why.",
    ),
    errors.NotAllowed: Heading(
        "Method not allowed",
        "The resource exists, but does not have this for now: a private repository has no cap of "
        "pull requests. A method that a path never has is answered with 404.",
    ),
    errors.NotAcceptable: Heading(
        "Not acceptable",
        "`Accept` asks for a form that this resource does not have, such as `diff`. "
        "`application/json` always works.",
    ),
    errors.TooSlow: Heading(
        "Request timeout",
        "The headers or the body did not arrive in time (settings `header_timeout` and "
        "`body_timeout`). The server closes the connection.",
        general=True,
    ),
    Conflict: Heading(
        "Conflict",
        "The change contradicts the present state. For example, a name is in use, or an event with "
        "the same delivery id has another body.",
    ),
    Gone: Heading(
        "Gone",
        "The resource was deleted, or it is switched off in its repository, or a setting has "
        "switched the operation off. The message says which, and names the setting.",
    ),
    errors.TooLarge: Heading(
        "Too large",
        "The body is larger than the server accepts. The settings `max_body_bytes`, "
        "`max_event_bytes` and `max_batch_lines` set the limits. A body of JSON, except "
        "an event's, also has at most 100,000 values, or one for each 20 bytes of its limit if "
        "these are more.",
    ),
    errors.LongURL: Heading(
        "URL too long",
        "The URL is longer than the server accepts. The setting `max_header_bytes` limits the URL "
        "and the headers together.",
        general=True,
    ),
    errors.LongHead: Heading(
        "Headers too large",
        "The headers together are larger than the server accepts, or there are too many of them. "
        "The settings `max_header_bytes` and `max_headers` set the limits.",
        general=True,
    ),
    errors.Unsupported: Heading(
        "Unsupported media type",
        "The server knows none of the media types in `Accept`, or the operation does not read the "
        "`Content-Type` of this body, or the body is compressed. The message says what to send.",
    ),
    Invalid: VALIDATION,
    errors.Rejected: VALIDATION,
    errors.NotFound: Heading(
        "Unknown reference", "The body names something that is not there, or is not visible."
    ),
    Busy: UNAVAILABLE,
    Unavailable: UNAVAILABLE,
    errors.MovedPermanently: Heading(
        "Moved",
        "The repository has another name now, or the issue is in another repository. `Location` "
        "and the member `url` have the new address. A GET answers 301; a change answers 307, so "
        "that clients repeat it with its body.",
    ),
}


def heading_of(error: Exception) -> Heading:
    if not isinstance(error, errors.MovedPermanently) and status_of(error) == 500:
        return SERVER_ERROR
    return next(HEADINGS[kind] for kind in type(error).mro() if kind in HEADINGS)


def operation_anchor(operation_id: str) -> str:
    """Return the anchor of an operation on the manual's page."""
    return operation_id.replace("/", "-")


def operation_place(operation_id: str) -> str:
    """Return the path and the anchor of an operation in the manual."""
    return f"{OPERATIONS_PAGE}#{operation_anchor(operation_id)}"


def place_of(error: Exception, place: str = "") -> str:
    """Return the path and the anchor in the manual that explain an error.

    `place` is where the manual describes the operation that raised it; empty if nowhere.
    """
    if isinstance(error, errors.NotServed):
        return error.place
    heading = heading_of(error)
    return place if place and not heading.general else f"{ERRORS_PAGE}#{heading.anchor}"
