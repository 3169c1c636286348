"""What happens to every request of the dashboard, in order: who looks -> may they -> the page, or
the form's check -> the act -> the audit log.

Whatever goes wrong is a page that says what to do about it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from hub import auditing
from hub.admins import Admins
from hub.answers import Answer, header
from hub.call import Call, Work
from hub.context import House
from hub.described import Described
from hub.errors import ClientGone, Forbidden
from hub.forms import read_form
from hub.routing import path_of
from hub.seeing import Seeing
from hub.ui import cookies
from hub.ui.drawing import draw
from hub.ui.failing import NotSignedIn, failed
from hub.ui.forgery import FIELD
from hub.ui.headers import PAGE
from hub.ui.look import Look
from hub.ui.section import ROOT, Act, Done, Live, Page, Section, Shown, Who
from hub.ui.stream import Stream
from hub.ui.viewer import Viewer
from hub.ui.visit import Visit
from store import Connection, sessions
from store.errors import Missing, StoreError
from store.figures import Figures

# Seconds in which the installation's figures have to be there; a page is shown without them.
PATIENCE = 2.0
MOST_FORM = 64 * 1024
NOBODY = Viewer()
Menu = tuple[Section, ...]


class Desk:
    """Answers what sections declare, each in one transaction."""

    def __init__(
        self, house: House, seeing: Seeing, admins: Admins, menu: Menu, described: Described
    ) -> None:
        self.house = house
        self.described = described
        self.seeing = seeing
        self.admins = admins
        self._menu = menu

    def page(self, page: Page) -> Work:
        """Where a page is asked for."""

        async def run(visit: Visit) -> Answer:
            figures = await self._figures(wanted=page.standing)
            if page.described:
                await self.house.store.read(self._admit, visit, page.who)
                await self.described.ready()
            shown = await self.house.store.read(self._show, visit, page, figures)
            return await self.answer(visit, shown)

        return self.guarded(run)

    def act(self, act: Act) -> Work:
        """Where a form is posted to."""

        async def run(visit: Visit) -> Answer:
            form = await self.form(visit.call)
            await self.house.store.read(self._admit, visit, act.who)
            visit.check_form(form.get(FIELD, ""))
            if act.before is not None:
                await act.before(self.house, form)
            result = await self.house.store.write(self._do, visit, act, form)
            if isinstance(result, Shown):
                return await self.answer(visit, result)
            for name, value in {**result.cookies, cookies.NOTICE: result.notice}.items():
                visit.keep(name, value, 60 if name == cookies.NOTICE else None)
            return Answer(303, b"", [header("Location", result.to), *PAGE, *visit.headers])

        return self.guarded(run)

    def live(self, live: Live) -> Work:
        """Where a page that is open listens."""

        async def run(visit: Visit) -> Answer:
            await self.house.store.read(self._admit, visit, live.who)
            return Stream(self, visit, live)

        return self.guarded(run)

    def lost(self) -> Work:
        """What answers where nothing is."""

        async def run(visit: Visit) -> Answer:
            await self.house.store.read(visit.meet, self.admins)
            raise Missing("page")

        return self.guarded(run)

    def guarded(self, run: Callable[[Visit], Awaitable[Answer]]) -> Work:
        """`run`, whatever goes wrong in it."""

        async def work(call: Call) -> Answer:
            visit = Visit(self.house, call)
            try:
                return await run(visit)
            except NotSignedIn:
                return _to_the_door(visit)
            except ClientGone:
                raise
            except Exception as error:  # whatever it is, people get a page
                return await self.answer(visit, failed(self.house, call, error))

        return work

    def _admit(self, db: Connection, visit: Visit, who: Who) -> Viewer:
        """Who looks. NotSignedIn, Forbidden."""
        viewer = visit.meet(db, self.admins)
        if viewer is None:
            if who != "anyone":
                raise NotSignedIn
            return NOBODY
        if viewer.is_guest and who not in ("anyone", "guest"):
            raise Forbidden("Your link is for the deliveries of one hook, and for nothing else.")
        if who == "operator" and not viewer.operator:
            raise Forbidden("This is for those who run the installation: site administrators.")
        return viewer

    def look(
        self, db: Connection, visit: Visit, who: Who, figures: Figures | None = None, **given: Any
    ) -> Look:
        """What a function is given. NotSignedIn, Forbidden."""
        call = visit.call
        return Look(
            db,
            self.house,
            self._admit(db, visit, who),
            _clean(call.values),
            _clean(call.query),
            figures=figures,
            described=self.described,
            origin=visit.origin,
            address=lambda: self.house.clients.address(call.scope),
            **given,
        )

    def _show(self, db: Connection, visit: Visit, page: Page, figures: Figures | None) -> Shown:
        look = self.look(db, visit, page.who, figures)
        found = page.show(look)
        shown = found if isinstance(found, Shown) else Shown(page.template, found)
        return Shown(shown.template, {"now": db.now, **shown.told}, shown.status)

    def _do(self, db: Connection, visit: Visit, act: Act, form: dict[str, str]) -> Done | Shown:
        look = self.look(db, visit, act.who, form=_clean(form))
        actor = visit.actor()
        result = act.act(look)
        ids = result.ids if isinstance(result, Done) else None
        fields = result.fields if isinstance(result, Done) else ()
        auditing.record(db, self.house, visit.call, act.name, actor, 200, ids=ids, fields=fields)
        if isinstance(result, Shown):
            return Shown(result.template, {"now": db.now, **result.told}, result.status)
        return result

    async def _figures(self, *, wanted: bool) -> Figures | None:
        if not wanted:
            return None
        try:
            return await self.seeing.figures.get(PATIENCE)
        except (TimeoutError, StoreError):
            return None

    async def figures(self, live: Live) -> Figures | None:
        """How things stand, where a stream tells of that."""
        return await self._figures(wanted=live.standing)

    async def form(self, call: Call) -> dict[str, str]:
        """The fields that were posted."""
        raw = await self.house.intake.read(call.headers, call.receive, MOST_FORM)
        self.house.intake.give_back(len(raw))
        return await read_form(call.scope, raw)

    async def answer(self, visit: Visit, shown: Shown) -> Answer:
        """A page, drawn."""
        if visit.stale and visit.session is not None:
            await self.house.store.note(sessions.used, visit.session)
        told = {**self._common(visit), **shown.told}
        body = draw(shown.template, told).encode()
        if cookies.NOTICE in visit.cookies:
            visit.drop(cookies.NOTICE)
        return Answer(shown.status, body, [*PAGE, *visit.headers])

    def _common(self, visit: Visit) -> dict[str, Any]:
        """What every template is told."""
        viewer = visit.viewer
        return {
            "viewer": viewer or NOBODY,
            "signed_in": viewer is not None,
            "csrf": visit.form_token(),
            "theme": visit.theme,
            "notice": visit.cookies.get(cookies.NOTICE, "")[:500],
            "here": path_of(visit.call.scope),
            "menu": self._offered(viewer),
            "request_id": visit.call.request_id,
            "origin": visit.origin + self.house.urls.prefix,
            "now": self.house.store.clock.now(),
        }

    def _offered(self, viewer: Viewer | None) -> list[Section]:
        """The menu's entries."""
        settings = self.house.settings
        return [
            one
            for one in self._menu
            if one.label and _is_for(one.who, viewer) and one.offered(settings, viewer or NOBODY)
        ]


def _clean(given: Mapping[str, str]) -> dict[str, str]:
    """What came, without what no database takes as text."""
    return {name: value.replace("\0", "\ufffd") for name, value in given.items()}


def _is_for(who: Who, viewer: Viewer | None) -> bool:
    if viewer is None or (viewer.is_guest and who != "guest"):
        return False
    return viewer.operator or who != "operator"


def _to_the_door(visit: Visit) -> Answer:
    """To where one signs in, and back from there."""
    call = visit.call
    if call.headers.get(b"sec-fetch-site") == b"cross-site" and call.scope["method"] == "GET":
        # The cookie does not come along from another site's link: asked by us, it does.
        return Answer(200, draw("from_elsewhere.html", {"theme": visit.theme}).encode(), PAGE)
    here = path_of(call.scope)
    query = call.scope["query_string"].decode("latin-1")
    wanted = here + (f"?{query}" if query else "")
    back = f"?next={quote(wanted, safe='')}" if call.scope["method"] == "GET" else ""
    place = f"{ROOT}/sign-in{back}"
    if b"hx-request" in call.headers:
        return Answer(200, b"", [header("HX-Redirect", place), *PAGE])
    return Answer(303, b"", [header("Location", place), *PAGE, *visit.headers])
