"""Signing in with a token, and out; and which colours somebody wants."""

from hub import auditing
from hub.admins import Admins
from hub.answers import Answer, header
from hub.auth import caller_of
from hub.call import Work
from hub.errors import Blocked, Forbidden, Unauthenticated
from hub.quotas import Subject
from hub.ui import cookies
from hub.ui.forgery import FIELD
from hub.ui.headers import PAGE
from hub.ui.look import Look
from hub.ui.section import ROOT, Section, Shown
from hub.ui.serve import Desk
from hub.ui.viewer import Viewer
from hub.ui.visit import THEMES, Visit
from store import Connection, sessions, tokens

ui = Section()
UNKNOWN = "No such token. It may have expired, or have been revoked."
"""What a wrong token is answered with; whether one exists is not to be learned otherwise."""


@ui.page("/sign-in", "sign_in.html", who="anyone")
def sign_in_page(look: Look) -> dict[str, object]:
    """Where one signs in."""
    return {"next": within(look.asked("next", 2000)), "error": ""}


def within(path: str) -> str:
    """A path of the dashboard to go on to: the given one, if it is one."""
    inside = path == ROOT or path.startswith((f"{ROOT}/", f"{ROOT}?"))
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if inside and plain and not path.startswith(f"{ROOT}/sign-in") else ROOT


class Door:
    """Opens sessions, and ends them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._house = desk.house
        self._admins: Admins = desk.admins

    def sign_in(self) -> Work:
        """POST /ui/sign-in"""
        return self._desk.guarded(self._sign_in)

    async def _sign_in(self, visit: Visit) -> Answer:
        form = await self._desk.form(visit.call)
        visit.check_form(form.get(FIELD, ""))
        value, wanted = form.get("token", "").strip(), within(form.get("next", ""))
        try:
            if not self._admins.is_ours(value) and not tokens.well_formed(value):
                raise Unauthenticated(UNKNOWN)
            cookie = await self._house.store.write(self._open, visit, value)
        except Unauthenticated:
            return await self._refused(visit, wanted)
        visit.keep(cookies.SESSION, cookie)
        visit.drop(cookies.DOOR)
        return Answer(303, b"", [header("Location", wanted), *PAGE, *visit.headers])

    async def _refused(self, visit: Visit, wanted: str) -> Answer:
        self._house.measures.failed_logins.add("token")
        await self._house.store.read(self._count, visit)
        told = {"next": wanted, "error": UNKNOWN}
        return await self._desk.answer(visit, Shown("sign_in.html", told, 401))

    def _count(self, db: Connection, visit: Visit) -> None:
        limits = self._house.limits
        subject = Subject("address", self._house.clients.address(visit.call.scope))
        if limits is not None and limits.bad_token(db, subject):
            raise Blocked

    def _open(self, db: Connection, visit: Visit, value: str) -> str:
        if self._admins.is_ours(value):
            visit.viewer = Viewer(operator=True)
            cookie = sessions.begin(db, operator=self._admins.mark)
        else:
            row = tokens.find(db, value)
            if row is None:
                raise Unauthenticated(UNKNOWN)
            visit.viewer = Viewer(caller_of(row))
            cookie = sessions.begin(db, token_id=row["id"], until=row["expires_at"])
        auditing.record(db, self._house, visit.call, "ui/sign-in", visit.actor(), 200)
        return cookie

    def sign_out(self) -> Work:
        """POST /ui/sign-out"""

        async def run(visit: Visit) -> Answer:
            form = await self._desk.form(visit.call)
            await self._house.store.read(visit.meet, self._admins)
            visit.check_form(form.get(FIELD, ""))
            if visit.session is not None:
                await self._house.store.write(self._close, visit, visit.session)
            visit.drop(cookies.SESSION)
            place = header("Location", f"{ROOT}/sign-in")
            return Answer(303, b"", [place, *PAGE, *visit.headers])

        return self._desk.guarded(run)

    def _close(self, db: Connection, visit: Visit, cookie: str) -> None:
        if sessions.end(db, cookie):
            auditing.record(db, self._house, visit.call, "ui/sign-out", visit.actor(), 200)

    def theme(self) -> Work:
        """POST /ui/theme"""

        async def run(visit: Visit) -> Answer:
            form = await self._desk.form(visit.call)
            await self._house.store.read(visit.meet, self._admins)
            visit.check_form(form.get(FIELD, ""))
            chosen = form.get("theme", "")
            if chosen not in THEMES:
                raise Forbidden(f"The colours are one of {', '.join(THEMES)}.")
            visit.keep(cookies.THEME, chosen, cookies.YEAR)
            place = header("Location", within(form.get("next", "")))
            return Answer(303, b"", [place, *PAGE, *visit.headers])

        return self._desk.guarded(run)
