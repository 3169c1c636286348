"""Who may see a page, and the way to the sign-in page for those who are not signed in."""

from urllib.parse import quote

from hub.admin.administrators import AdminAuth
from hub.http.errors import Forbidden
from hub.http.response import Response, header
from hub.ui.errors import NotSignedIn
from hub.ui.headers import PAGE
from hub.ui.section import ROOT, Audience
from hub.ui.session_request import SessionRequest
from hub.ui.viewer import OPERATORS_ONLY, DashboardViewer
from store import Connection

# The query with which the sign-in page says that an action was not performed.
ENDED = "?ended=1"
NOBODY = DashboardViewer()


def authorize(
    db: Connection, visit: SessionRequest, who: Audience, admins: AdminAuth
) -> DashboardViewer:
    """Return the viewer.

    Raises NotSignedIn or Forbidden if this audience does not include them, and NotSignedIn if
    another site led here, so that the browser sent no cookie.
    """
    viewer = visit.authenticate(db, admins)
    if viewer is None:
        # A page for anyone has a form, which the browser will send with the cookie of a session.
        if who != "anyone" or visit.is_led_by_another_site:
            raise NotSignedIn
        return NOBODY
    if viewer.is_guest and who not in ("anyone", "guest"):
        raise Forbidden("Your link only gives access to the deliveries of one hook.")
    if who == "operator" and not viewer.operator:
        raise Forbidden(OPERATORS_ONLY)
    return viewer


def is_for(who: Audience, viewer: DashboardViewer | None) -> bool:
    """Return whether the menu offers a section for this audience to the viewer."""
    if viewer is None or (viewer.is_guest and who != "guest"):
        return False
    return viewer.operator or who != "operator"


def redirect_to_sign_in(visit: SessionRequest) -> Response:
    """Redirect to the sign-in page, which leads back here afterwards.

    If another site led here, show a page that loads this address again.
    """
    request = visit.request
    if visit.is_led_by_another_site:
        return visit.load_from_here()
    reads = request.scope["method"] in ("GET", "HEAD")
    back = f"?next={quote(visit.place, safe='')}" if reads else ""
    place = f"{ROOT}/sign-in{back or ENDED}"
    if b"hx-request" in request.headers:
        return Response(200, b"", [header("HX-Redirect", place), *PAGE])
    return visit.redirect(place)
