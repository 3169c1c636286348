"""Against posts that another site has a browser make: a token in each form, and its origin."""

import hashlib
import hmac

from hub.http.errors import Forbidden
from hub.rest.request import Request

FIELD, HEADER = "csrf", b"x-csrf-token"


def token_of(cookie: str) -> str:
    """What goes with each form of the pages that are shown to who has this cookie."""
    return hmac.new(cookie.encode(), b"tocsin form", hashlib.sha256).hexdigest()


def check(call: Request, cookie: str | None, given: str, origin: str) -> None:
    """Forbidden for a post that was not sent from one of our own pages."""
    site = call.headers.get(b"sec-fetch-site")
    if site is not None and site != b"same-origin":
        raise _forged()
    named = call.headers.get(b"origin")
    if named is not None and named.decode("latin-1") != origin:
        raise _forged()
    given = call.text(HEADER) or given
    if cookie is None or not hmac.compare_digest(token_of(cookie).encode(), given.encode()):
        raise Forbidden("This form is out of date. Go back, load the page again, and send it anew.")


def _forged() -> Forbidden:
    return Forbidden(
        "This was not sent from a page of this dashboard. If it was, and a proxy is in front of"
        " it: that has to pass on the Host that the browser sent, or base_url has to name it."
    )
