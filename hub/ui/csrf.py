"""Protection against cross-site request forgery: a token in each form, and an origin check."""

import hashlib
import hmac
from collections.abc import Iterable

from hub.http.errors import Forbidden
from hub.rest.request import Request

FIELD, HEADER = "csrf", b"x-csrf-token"


class NotFromForm(Forbidden):
    """The request does not come from a form of the dashboard that is up to date."""


def token_of(cookie: str) -> str:
    """Return the form token that belongs to a cookie."""
    return hmac.new(cookie.encode(), b"tocsin form", hashlib.sha256).hexdigest()


def check(request: Request, cookies: Iterable[str | None], given: str, origin: str) -> None:
    """Check that a post comes from a page of the dashboard, with the token of one of the cookies.

    Raises Forbidden if not.
    """
    site = request.headers.get(b"sec-fetch-site")
    if site is not None and site != b"same-origin":
        raise _forged()
    named = request.headers.get(b"origin")
    if named is not None and named.decode("latin-1") != origin:
        raise _forged()
    sent = (request.text(HEADER) or given).encode()
    if not any(one and hmac.compare_digest(token_of(one).encode(), sent) for one in cookies):
        raise NotFromForm(
            "This form is out of date. Go back, reload the page, and submit the form again."
        )


def _forged() -> NotFromForm:
    return NotFromForm(
        "This request did not come from a page of this dashboard. If it did, and there is a proxy:"
        " the proxy must pass on the browser's Host header, or base_url must name that host."
    )
