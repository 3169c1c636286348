"""The steps of every dashboard request: authenticate, authorize, then show the page.

For a form: check its token, run the action, write the audit log. Every error becomes a page with
advice.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from hub.admin.administrators import AdminAuth
from hub.admin.observability import Observability
from hub.http.body import apart
from hub.http.errors import ClientGone, Malformed, TooLarge, status_of
from hub.http.forms import Form, read_form
from hub.http.response import Response
from hub.openapi.cache import OpenAPICache
from hub.rest import auditing
from hub.rest.context import Services
from hub.rest.request import Handler, Request
from hub.ui import cookies
from hub.ui.audience import NOBODY, authorize, redirect_to_sign_in
from hub.ui.csrf import FIELD
from hub.ui.errors import NotSignedIn, failed, signed_out
from hub.ui.headers import PAGE
from hub.ui.section import (
    Action,
    ActionResult,
    Audience,
    LiveStream,
    PageElsewhere,
    Refusal,
    RenderedPage,
    Section,
    SectionPage,
)
from hub.ui.session_request import SessionRequest
from hub.ui.stream import Stream
from hub.ui.template_values import values_of_request, values_of_viewer
from hub.ui.templating import render
from hub.ui.view_context import ViewContext
from store import Connection
from store.accounts import sessions
from store.errors import Conflict, Invalid, Missing, StoreError
from store.monitoring.stats import DeliveryStats

# Time limit for the installation's figures, in seconds. Without them the page is still shown.
PATIENCE = 2.0
# Limits of a form in bytes and fields. Only people who are signed in may send a payload.
MOST_FORM, MOST_ACTION, MOST_FIELDS = 64 * 1024, 1024 * 1024, 256
Menu = tuple[Section, ...]


class Dashboard:
    """Serves the pages, actions and live streams that the sections declare."""

    def __init__(
        self,
        services: Services,
        observability: Observability,
        admins: AdminAuth,
        menu: Menu,
        openapi: OpenAPICache,
    ) -> None:
        self.services = services
        self.openapi = openapi
        self.observability = observability
        self.admins = admins
        self._menu = menu
        self._lives = [(_shape(live.path), live) for one in menu for live in one.lives]

    def page(self, page: SectionPage) -> Handler:
        """Return the handler of a page."""

        async def run(visit: SessionRequest) -> Response:
            figures = await self.figures(page)
            if page.openapi and not self.openapi.is_ready:
                # Making it takes long, so the hub first checks who wants to see the page.
                await self.services.store.read(authorize, visit, page.who, self.admins)
                await self.openapi.ready()
            shown = await self.services.store.read_of(
                page.path, self._render_page, visit, page, figures
            )
            if isinstance(shown, PageElsewhere):
                return visit.redirect(shown.to)
            return await self.answer(visit, shown)

        return self.guarded(run)

    def act(self, act: Action) -> Handler:
        """Return the handler of an action's form."""

        async def run(visit: SessionRequest) -> Response:
            try:
                viewer = await self.services.store.read(authorize, visit, act.who, self.admins)
            except NotSignedIn:
                if visit.is_own and not await self._keep_form(visit):
                    return await self.answer(visit, signed_out(is_kept=False))
                raise
            form = await self.form(visit.request, MOST_FORM if viewer is NOBODY else MOST_ACTION)
            visit.keep_form(form)
            visit.check_form(form.get(FIELD, ""))
            result = await self._result_of(visit, act, form)
            if isinstance(result, RenderedPage):
                return await self.answer(visit, result)
            for name, value in {**result.cookies, cookies.NOTICE: result.notice}.items():
                visit.keep(name, value, 60 if name == cookies.NOTICE else None)
            return visit.redirect(result.to)

        return self.guarded(run)

    async def _keep_form(self, visit: SessionRequest) -> bool:
        """Keep the form of a visitor whose session has ended. Return False if it is too large."""
        try:
            visit.keep_form(await self.form(visit.request))
        except TooLarge:
            return False
        except Malformed:
            pass  # Without a readable form, the browser is led to the sign-in.
        return True

    async def _result_of(
        self, visit: SessionRequest, act: Action, form: Form
    ) -> ActionResult | RenderedPage:
        store = self.services.store
        try:
            read = self.services.compute if act.computes else store.read
            prepared = await read(self._prepare_action, visit, act, form)
            if act.before is not None:
                prepared = await act.before(self.services, prepared)
            return await store.write(self._perform_action, visit, act, form, prepared)
        except (Invalid, Conflict) as error:
            if act.refused is None:
                raise
            return await store.read(self._render_refused, visit, act, form, error)

    async def stream(self, visit: SessionRequest) -> Response:
        """Answer with the stream, in which a browser follows all its live views."""
        await self.services.store.read(visit.authenticate, self.admins)
        return Stream(self, visit)

    def live_at(self, path: str) -> tuple[LiveStream | None, dict[str, str]]:
        """Return the live view at a path, and the path's parameters."""
        for shape, live in self._lives:
            if found := shape.fullmatch(path):
                return live, found.groupdict()
        return None, {}

    async def lost(self, visit: SessionRequest) -> Response:
        """Answer a request for an unknown path."""
        await self.services.store.read(visit.authenticate, self.admins)
        raise Missing("page")

    def guarded(self, run: Callable[[SessionRequest], Awaitable[Response]]) -> Handler:
        """Wrap `run` so that its errors become pages."""

        async def work(request: Request) -> Response:
            visit = SessionRequest(self.services, request)
            try:
                return await run(visit)
            except NotSignedIn:
                if visit.kept:
                    return await self.answer(visit, signed_out(is_kept=True))
                return redirect_to_sign_in(visit)
            except ClientGone:
                raise
            except Exception as error:  # every error is shown as a page
                shown = failed(self.services, request, error, is_kept=bool(visit.kept))
                return await self.answer(visit, shown)

        return work

    def context(
        self,
        db: Connection,
        visit: SessionRequest,
        who: Audience,
        figures: DeliveryStats | None = None,
        **given: Any,
    ) -> ViewContext:
        """Return the context for a handler. Raises NotSignedIn or Forbidden."""
        request = visit.request
        return ViewContext(
            db,
            self.services,
            authorize(db, visit, who, self.admins),
            {name: _without_nul(value) for name, value in request.values.items()},
            Form((name, _without_nul(value)) for name, value in request.query.pairs),
            figures=figures,
            openapi=self.openapi,
            origin=visit.origin,
            address=lambda: self.services.clients.address(request.scope),
            session=visit.session,
            **given,
        )

    def _render_page(
        self,
        db: Connection,
        visit: SessionRequest,
        page: SectionPage,
        figures: DeliveryStats | None,
    ) -> RenderedPage | PageElsewhere:
        ctx = self.context(db, visit, page.who, figures)
        found = page.show(ctx)
        if isinstance(found, PageElsewhere):
            return found
        shown = found if isinstance(found, RenderedPage) else RenderedPage(page.template, found)
        return RenderedPage(shown.template, {**values_of_viewer(ctx), **shown.values}, shown.status)

    def _prepare_action(
        self, db: Connection, visit: SessionRequest, act: Action, form: Form
    ) -> Any:
        if act.prepare is None:
            return None
        return act.prepare(self.context(db, visit, act.who, form=form))

    def _render_refused(
        self, db: Connection, visit: SessionRequest, act: Action, form: Form, error: Refusal
    ) -> RenderedPage:
        assert act.refused is not None, "the caller has checked it"
        ctx = self.context(db, visit, act.who, form=form)
        shown = act.refused(ctx, error)
        values = {**values_of_viewer(ctx), **shown.values}
        return RenderedPage(shown.template, values, status_of(error))

    def _perform_action(
        self, db: Connection, visit: SessionRequest, act: Action, form: Form, prepared: Any
    ) -> ActionResult | RenderedPage:
        ctx = self.context(db, visit, act.who, form=form, prepared=prepared)
        actor = visit.actor()
        result = act.act(ctx)
        visit.count_action(db)
        fields = result.fields if isinstance(result, ActionResult) else ()
        auditing.record(
            db, self.services, visit.request, act.name, actor, 200, ids=result.ids, fields=fields
        )
        if isinstance(result, RenderedPage):
            return RenderedPage(result.template, {"now": db.now, **result.values}, result.status)
        return result

    async def figures(self, view: SectionPage | LiveStream) -> DeliveryStats | None:
        """Return the installation's figures, if the view is declared with `figures`."""
        if not view.figures:
            return None
        try:
            return await self.observability.figures.get(PATIENCE)
        except (TimeoutError, StoreError):
            return None

    async def form(self, request: Request, most: int = MOST_FORM) -> Form:
        """Return the fields of a posted form of at most `most` bytes."""
        raw = await self.services.body_reader.read_and_release(request, most)
        return await apart(raw, read_form, raw, request.scope, MOST_FIELDS)

    async def answer(self, visit: SessionRequest, shown: RenderedPage) -> Response:
        if visit.stale and visit.session is not None:
            await self.services.store.write_relaxed(sessions.touch, visit.session)
        values = {**values_of_request(visit, self._menu), **shown.values}
        body = render(shown.template, values).encode()
        if cookies.NOTICE in visit.cookies:
            visit.drop(cookies.NOTICE)
        return Response(shown.status, body, [*PAGE, *visit.headers])


def _shape(path: str) -> re.Pattern[str]:
    """Return the pattern of a path in which `{name}` is a parameter."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def _without_nul(text: str) -> str:
    """Replace NUL, which no database accepts in a text."""
    return text.replace("\0", "\ufffd")
