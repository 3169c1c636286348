"""Signing in with a token, signing out, and the color theme."""

from collections.abc import Awaitable, Callable

from hub.admin.administrators import AdminAuth
from hub.auth.credentials import caller_of
from hub.http.errors import Blocked, Forbidden, Unauthenticated
from hub.http.forms import Form
from hub.http.response import Response
from hub.rest import auditing
from hub.rest.authenticate import has_too_many
from hub.rest.context import Services
from hub.ui import cookies
from hub.ui.csrf import FIELD
from hub.ui.dashboard import Dashboard
from hub.ui.section import ROOT, RenderedPage, Section
from hub.ui.session_request import THEMES, SessionRequest
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Connection
from store.accounts import sessions, tokens

ui = Section()
START, CALLBACK = f"{ROOT}/sign-in/openid", f"{ROOT}/sign-in/openid/callback"
UNKNOWN = "No such token. It may have expired, or have been revoked."
"""The message for every wrong token, which does not reveal whether the token exists."""


@ui.page("/sign-in", "sign_in.html", who="anyone")
def sign_in_page(ctx: ViewContext) -> dict[str, object]:
    """Show the sign-in form."""
    shown = values(ctx.services, within(ctx.query.get("next", "")))
    return {**shown, "ended": ctx.asked("ended") == "1"}


def values(services: Services, next_: str, error: str = "") -> dict[str, object]:
    settings = services.settings
    provider = settings.openid_label if settings.openid_issuer else ""
    return {"next": next_, "error": error, "provider": provider, "ended": False}


def within(path: str) -> str:
    """Return the path if it is one of the dashboard's; otherwise the dashboard's root."""
    inside = path == ROOT or path.startswith((f"{ROOT}/", f"{ROOT}?"))
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if inside and plain and not path.startswith(f"{ROOT}/sign-in") else ROOT


async def count_failure(services: Services, visit: SessionRequest, kind: str) -> None:
    """Count a failed sign-in. Raises Blocked after too many from the client's address."""
    services.metrics.failed_logins.add(kind)
    if await services.store.read(has_too_many, services, visit.request):
        raise Blocked


Leave = Callable[[SessionRequest], Awaitable[str | None]]


class SignIn:
    """Begins and ends sessions. `leave` returns where people also sign out at their provider."""

    def __init__(self, dashboard: Dashboard, leave: Leave | None) -> None:
        self._dashboard = dashboard
        self._leave = leave
        self._services = dashboard.services
        self._admins: AdminAuth = dashboard.admins

    async def sign_in(self, visit: SessionRequest) -> Response:
        """Answer POST /ui/sign-in."""
        # The page also shows the form to people who are signed in, with the token of their session.
        form = await self._form(visit, of_anyone=True)
        value, wanted = form.get("token", "").strip(), within(form.get("next", ""))
        try:
            if not self._admins.is_configured_token(value) and not tokens.is_well_formed(value):
                raise Unauthenticated(UNKNOWN)
            cookie = await self._services.store.write(self._open, visit, value)
        except Unauthenticated:
            return await self._refused(visit, wanted)
        visit.begin(cookie)
        return visit.redirect(wanted)

    async def _form(self, visit: SessionRequest, *, of_anyone: bool = False) -> Form:
        """Return the posted form, after a check that a page of the dashboard has sent it."""
        form = await self._dashboard.form(visit.request)
        await self._services.store.read(visit.authenticate, self._admins)
        visit.check_form(form.get(FIELD, ""), of_anyone=of_anyone)
        return form

    async def _refused(self, visit: SessionRequest, wanted: str) -> Response:
        await count_failure(self._services, visit, "token")
        shown = values(self._services, wanted, UNKNOWN)
        return await self._dashboard.answer(visit, RenderedPage("sign_in.html", shown, 401))

    def _open(self, db: Connection, visit: SessionRequest, value: str) -> str:
        # The browser forgets the cookie of its former session. This leaves room for the next one.
        sessions.end(db, visit.session or "")
        if self._admins.is_configured_token(value):
            visit.viewer = DashboardViewer(operator=True)
            origin = visit.sign_in_origin("administrator")
            cookie = sessions.begin(db, operator=self._admins.mark, origin=origin)
        else:
            row = tokens.find(db, value)
            if row is None:
                raise Unauthenticated(UNKNOWN)
            visit.viewer = DashboardViewer(caller_of(row))
            visit.count_action(db)
            origin = visit.sign_in_origin("token")
            until = row["expires_at"]
            cookie = sessions.begin(db, token_id=row["id"], until=until, origin=origin)
        auditing.record(db, self._services, visit.request, "ui/sign-in", visit.actor(), 200)
        return cookie

    async def sign_out(self, visit: SessionRequest) -> Response:
        """Answer POST /ui/sign-out."""
        await self._form(visit)
        if visit.session is not None:
            await self._services.store.write(self._close, visit, visit.session)
        visit.drop(cookies.SESSION)
        also = await self._leave(visit) if self._leave and visit.method == "openid" else None
        if also is not None:
            visit.viewer = None
            shown = RenderedPage("signed_out.html", {"provider": also})
            return await self._dashboard.answer(visit, shown)
        return visit.redirect(f"{ROOT}/sign-in")

    def _close(self, db: Connection, visit: SessionRequest, cookie: str) -> None:
        if sessions.end(db, cookie):
            auditing.record(db, self._services, visit.request, "ui/sign-out", visit.actor(), 200)

    async def theme(self, visit: SessionRequest) -> Response:
        """Answer POST /ui/theme."""
        form = await self._form(visit, of_anyone=True)
        chosen = form.get("theme", "")
        if chosen not in THEMES:
            raise Forbidden(f"The theme must be one of {', '.join(THEMES)}.")
        visit.keep(cookies.THEME, chosen, cookies.YEAR)
        return visit.redirect(within(form.get("next", "")))
