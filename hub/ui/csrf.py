"""Protection against cross-site request forgery: a token in each form, and an origin check."""

import hashlib
import hmac
from collections.abc import Collection

from hub.http.errors import Forbidden
from hub.rest.request import Request

FIELD, HEADER = "csrf", b"x-csrf-token"
NO_COOKIE = (
    "The browser sent no cookie, which every form of the dashboard needs. Allow cookies for this"
    " site. If base_url begins with https, open the dashboard with https too. Then reload the page."
)


class NotFromForm(Forbidden):
    """The request does not come from a form of the dashboard that is up to date."""


class OutOfDate(NotFromForm):
    """The form may be one of the dashboard, but has not the token of this session."""


def token_of(cookie: str, author: str = "") -> str:
    """Return the form token that belongs to a cookie. It ends with the form's author."""
    return f"{_signature(cookie)}_{author}"


def author_of(token: str) -> str:
    """Return who got the form with this token; empty for a visitor."""
    return token.partition("_")[2]


def _signature(cookie: str) -> str:
    return hmac.new(cookie.encode(), b"tocsin form", hashlib.sha256).hexdigest()


def check(request: Request, cookies: Collection[str | None], given: str, origin: str) -> None:
    """Check that a post comes from a page of the dashboard, with the token of one of the cookies.

    Raises Forbidden if not.
    """
    if not all(_origins(request, origin)):
        raise _forged()
    if not any(cookies):
        raise NotFromForm(NO_COOKIE)
    sent = (request.text(HEADER) or given).partition("_")[0].encode()
    if not any(one and hmac.compare_digest(_signature(one).encode(), sent) for one in cookies):
        raise OutOfDate(
            "This form is out of date. Go back, reload the page, and submit the form again."
        )


def is_own(request: Request, origin: str) -> bool:
    """Return whether the browser says that a page of the dashboard sent the request."""
    said = _origins(request, origin)
    return bool(said) and all(said)


def _origins(request: Request, origin: str) -> list[bool]:
    """Return whether each header that names the request's origin names the dashboard."""
    headers = request.headers
    wanted = {b"sec-fetch-site": b"same-origin", b"origin": origin.encode("latin-1", "replace")}
    return [headers[name] == value for name, value in wanted.items() if name in headers]


def _forged() -> NotFromForm:
    return NotFromForm(
        "This request did not come from a page of this dashboard. If it did, and there is a proxy:"
        " the proxy must pass on the browser's Host header, or base_url must begin as the address"
        " that the browser shows."
    )
