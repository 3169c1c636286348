"""A dashboard request with its cookies, its origin and its viewer."""

import hashlib
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hub.admin.administrators import AdminAuth, may_look
from hub.auth.credentials import caller_of
from hub.auth.quotas import RateSubject
from hub.http.errors import Forbidden
from hub.http.forms import Form
from hub.http.response import Header, Response, header
from hub.http.routing import path_of
from hub.rest.context import Services
from hub.rest.request import Request
from hub.ui import cookies, csrf
from hub.ui.headers import PAGE
from hub.ui.section import ROOT
from hub.ui.templating import render
from hub.ui.viewer import DashboardViewer
from store import Connection, Row
from store.accounts import sessions
from store.audit.audit_log import Actor
from store.clock import SECOND

THEMES = ("auto", "light", "dark")
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
RENEWAL = b"x-renewal"
"""The header of requests that a page sends by itself, again and again. They are no use."""


@dataclass(slots=True)
class SessionRequest:
    """A request with its cookies and origin, and with its viewer after `authenticate`."""

    services: Services
    request: Request
    cookies: dict[str, str] = field(init=False, repr=False)
    origin: str = field(init=False)
    """The dashboard's origin as the browser sees it."""
    viewer: DashboardViewer | None = None
    stale: bool = False
    """Whether the session's last use must be updated."""
    method: str | None = None
    """How the session began: one of `sessions.SignInMethod`."""
    headers: list[Header] = field(default_factory=list)
    """Cookies to set in the response."""
    kept: list[tuple[str, str]] = field(default_factory=list)
    """The fields that somebody filled in, which the page of an error offers to send again."""
    kept_of: str = ""
    """The identity of the user who filled them in; empty if it is unknown."""

    def __post_init__(self) -> None:
        self.cookies = cookies.read(self.request)
        self.origin = self._origin()

    def _origin(self) -> str:
        parts, named = urlsplit(self.services.urls.origin), self.request.text(b"origin") or ""
        host, ours = self.request.text(b"host") or "", _origin_of(parts.scheme, parts.netloc)
        # Many proxies replace the Host header, or add the port to it.
        is_configured = self.services.settings.base_url is not None and named == ours
        if is_configured or _origin_of(parts.scheme, host) == ours:
            return ours
        # A proxy may have terminated TLS, but the host still identifies the page.
        if named.lower() == _origin_of(named.partition("://")[0], host):
            return named
        return _origin_of(self.request.scope["scheme"], host)

    @property
    def secure(self) -> bool:
        """Return whether cookies are restricted to encrypted connections."""
        return self.origin.startswith("https:")

    @property
    def session(self) -> str | None:
        """Return the session cookie's value."""
        return self.cookies.get(cookies.SESSION) or None

    @property
    def mark(self) -> str:
        """Return a name for the session that does not reveal the session cookie."""
        return hashlib.sha256(f"mark of {self.session}".encode()).hexdigest()[:16]

    @property
    def is_led_by_another_site(self) -> bool:
        """Return whether another site led here. Then a browser sends no strict cookie."""
        is_led = self.request.headers.get(b"sec-fetch-site") == b"cross-site"
        return is_led and self.request.scope["method"] == "GET"

    @property
    def place(self) -> str:
        """Return the path that was asked for, with its query.

        If a form made the page, no link leads there. Then return the dashboard's root.
        """
        if self.request.scope["method"] == "POST":
            return ROOT
        query = self.request.scope["query_string"].decode("latin-1")
        return path_of(self.request.scope) + (f"?{query}" if query else "")

    @property
    def theme(self) -> str:
        """Return the chosen color theme."""
        chosen = self.cookies.get(cookies.THEME, "")
        return chosen if chosen in THEMES else "auto"

    def keep(self, name: str, value: str, seconds: int | None = None) -> None:
        """Set a cookie in the response."""
        self.headers.append(cookies.set_cookie(name, value, secure=self.secure, seconds=seconds))

    def drop(self, name: str) -> None:
        """Delete a cookie in the response."""
        self.headers.append(cookies.delete_cookie(name, secure=self.secure))

    def begin(self, cookie: str) -> None:
        """Set the cookie of a session that has begun."""
        self.keep(cookies.SESSION, cookie)
        self.drop(cookies.DOOR)

    def load_from_here(self, place: str = "") -> Response:
        """Return a page that loads a path, or its own address again.

        A browser sends no strict cookie with a request or a redirect that another site began. It
        sends the cookie when this page loads the next one.
        """
        page = render("from_another_site.html", {"theme": self.theme, "to": place})
        return Response(200, page.encode(), [*PAGE, *self.headers])

    def redirect(self, place: str) -> Response:
        """Return the response that leads the browser to a path or a URL, with the cookies."""
        return Response(303, b"", [header("Location", place), *PAGE, *self.headers])

    def form_token(self) -> str:
        """Return the token for the page's forms.

        Sets a cookie for visitors who are not signed in.
        """
        cookie = self.session if self.viewer is not None else self.cookies.get(cookies.DOOR)
        if not cookie:
            cookie = secrets.token_urlsafe(16)
            self.keep(cookies.DOOR, cookie)
        author = self.kept_of if self.viewer is None else self.viewer.identity
        return csrf.token_of(cookie, author)

    @property
    def is_own(self) -> bool:
        """Return whether the browser says that a page of the dashboard sent the request."""
        return csrf.is_own(self.request, self.origin)

    def keep_form(self, form: Form) -> None:
        """Keep the fields of a form, unless another site or another user may have filled it in."""
        author = csrf.author_of(form.get(csrf.FIELD, ""))
        is_theirs = not author or self.viewer is None or author == self.viewer.identity
        if self.is_own and is_theirs:
            self.kept = [pair for pair in form.pairs if pair[0] != csrf.FIELD]
            self.kept_of = author

    def check_form(self, given: str, *, of_anyone: bool = False) -> None:
        """Check that the form was posted from a page of the dashboard. Raises Forbidden if not.

        A form `of_anyone` may have the token for visitors although there is a session: without the
        strict cookie, a page to which another site led is one for a visitor.
        """
        door = self.cookies.get(cookies.DOOR)
        accepted = [door if self.viewer is None else self.session, door if of_anyone else None]
        csrf.check(self.request, accepted, given, self.origin)

    def authenticate(self, db: Connection, admins: AdminAuth) -> DashboardViewer | None:
        """Return the signed-in viewer, or None. Sets `viewer`, `stale` and `method`."""
        self.viewer, self.stale = None, False
        if self.session is None:
            return None
        idle = self.services.settings.ui_idle * SECOND
        found = sessions.find(db, self.session, idle)
        if found is None:
            return None
        self.stale = found["stale"] and RENEWAL not in self.request.headers
        self.method = found["method"]
        if found["link_id"] is not None:
            self.viewer = DashboardViewer(hook_id=found["hook_id"])
        elif found["operator"] is not None:
            if found["operator"] == admins.mark:
                self.viewer = DashboardViewer(operator=True)
        elif found["token"] is not None:
            self.viewer = _token_viewer(found["token"])
        return self.viewer

    def sign_in_origin(self, method: sessions.SignInMethod) -> sessions.SignInOrigin:
        """Return the origin of a session that begins with this request."""
        address = self.services.clients.address(self.request.scope)
        return sessions.SignInOrigin(method, address, self.request.text(b"user-agent"))

    def count_action(self, db: Connection) -> None:
        """Count an action of the viewer. Raises TooFast beyond the limit.

        Each is in the audit log, and nobody who may do little must fill the disk with that.
        """
        limits, viewer = self.services.limits, self.viewer
        caller = None if viewer is None else viewer.caller
        if limits is None or (viewer is not None and viewer.operator and caller is None):
            return
        subject = RateSubject("address", self.services.clients.address(self.request.scope))
        if caller is not None:
            subject = RateSubject("user", str(caller.account_id))
        limits.record_action(db, subject)

    def actor(self) -> Actor:
        address = self.services.clients.origin(self.request.scope)
        caller = None if self.viewer is None else self.viewer.caller
        if caller is not None:
            return Actor(caller.login, "token", caller.account_id, caller.token_id, address)
        name = "nobody" if self.viewer is None else self.viewer.name
        return Actor(name, "token" if name == "administrator" else "link", address=address)


def _origin_of(scheme: str, host: str) -> str:
    """Return an origin as browsers write it: in lower case, and without the default port."""
    return f"{scheme}://{host}".lower().removesuffix(DEFAULT_PORTS.get(scheme, "/"))


def _token_viewer(row: Row) -> DashboardViewer | None:
    """Return the viewer with this token; None while its installation is suspended."""
    try:
        caller = caller_of(row)
    except Forbidden:
        return None
    return DashboardViewer(caller, operator=may_look(caller))
