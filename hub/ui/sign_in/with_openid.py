"""Signing in with an OpenID Connect provider: to the provider, and back with a code."""

from typing import Any

from hub.http.response import Response
from hub.openid.attempt import SignInAttempt
from hub.openid.errors import SignInFailed, WrongSubject, reason
from hub.openid.id_token import Claims
from hub.openid.provider import OpenIDProvider
from hub.openid.subjects import identify
from hub.rest import auditing
from hub.ui import cookies
from hub.ui.dashboard import Dashboard
from hub.ui.errors import NotSignedIn
from hub.ui.section import ROOT, RenderedPage
from hub.ui.session_request import SessionRequest
from hub.ui.sign_in import attempts
from hub.ui.sign_in.with_token import CALLBACK, START, count_failure, values, within
from store import Connection
from store.accounts import sessions, tokens
from store.audit.audit_log import Actor
from store.clock import SECOND

OUT_OF_DATE = "This sign-in began too long ago, or in another browser. Please try again."
MOST_KEPT = 2000
"""The characters of a path that an attempt keeps. A browser's cookie has 4096 bytes at most."""


class OpenIDSignIn:
    """Begins sessions for people whom the provider names."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        self._services = dashboard.services
        self.provider = OpenIDProvider(dashboard.services.settings, self._now)

    async def start(self, visit: SessionRequest) -> Response:
        """Lead the browser to the provider."""
        if visit.is_led_by_another_site:
            raise NotSignedIn
        wanted = within(visit.request.query.get("next", ""))
        # A part of a path would lead to another selection.
        wanted = wanted if len(wanted) <= MOST_KEPT else ROOT
        former = "" if visit.session is None else tokens.digest(visit.session)
        attempt = SignInAttempt.begin(wanted, former, self._now())
        try:
            place = await self.provider.authorization_url(attempt, self._redirect_uri(visit))
        except SignInFailed as error:
            return await self._failed(visit, attempt.next, error)
        attempts.keep(visit, attempt)
        return visit.redirect(place)

    async def finish(self, visit: SessionRequest) -> Response:
        """Answer the request with which the provider leads back."""
        asked = visit.request.query
        attempt = attempts.answered(visit, asked.get("state", ""), self._now())
        try:
            if attempt is None:
                raise SignInFailed(OUT_OF_DATE)
            claims = await self._claims(visit, attempt, asked)
            cookie = await self._services.store.write(self._open, visit, claims, attempt.former)
        except SignInFailed as error:
            return await self._failed(visit, attempt.next if attempt else ROOT, error)
        visit.begin(cookie)
        return visit.load_from_here(within(attempt.next))

    async def _claims(
        self, visit: SessionRequest, attempt: SignInAttempt, asked: dict[str, str]
    ) -> Claims:
        # RFC 9207: some providers name themselves.
        if asked.get("iss", self.provider.issuer) != self.provider.issuer:
            raise SignInFailed("The answer came from another provider.")
        if "error" in asked:
            raise SignInFailed(f"The provider refused the sign-in: {reason(asked)}.")
        if not asked.get("code"):
            raise SignInFailed("The provider sent no code.")
        address = self._services.clients.address(visit.request.scope)
        uri = self._redirect_uri(visit)
        return await self.provider.redeem(asked["code"], attempt, uri, address)

    def _open(self, db: Connection, visit: SessionRequest, claims: Claims, former: str) -> str:
        user = identify(db, self._services.settings, claims)
        # The end of the browser's former session leaves room for the next one.
        sessions.end_of(db, former)
        cookie = sessions.begin_openid(db, user.account_id, visit.sign_in_origin("openid"))
        visit.cookies[cookies.SESSION] = cookie
        visit.authenticate(db, self._dashboard.admins)
        visit.count_action(db)
        made = ("openid_link",) if user.is_new else ()
        self._record(db, visit, visit.actor(), 200, fields=made, ids={"openid_link": user.link_id})
        return cookie

    def _record(
        self, db: Connection, visit: SessionRequest, actor: Actor, status: int, **more: Any
    ) -> None:
        request = visit.request
        auditing.record(
            db, self._services, request, "ui/sign-in", actor, status, target=START, **more
        )

    def _record_refusal(self, db: Connection, visit: SessionRequest, error: WrongSubject) -> None:
        nobody = auditing.actor_of(self._services, visit.request, None)
        ids = {"user": error.login, "openid_link": error.link_id, "subject": error.subject}
        self._record(db, visit, nobody, error.status, ids=ids)

    async def _failed(self, visit: SessionRequest, next_: str, error: SignInFailed) -> Response:
        if error.refused:
            await count_failure(self._services, visit, "openid")
        if isinstance(error, WrongSubject):
            await self._services.store.write(self._record_refusal, visit, error)
        shown = values(self._services, within(next_), str(error))
        return await self._dashboard.answer(
            visit, RenderedPage("sign_in.html", shown, error.status)
        )

    async def sign_out_url(self, visit: SessionRequest) -> str | None:
        """Return where the browser can end its session at the provider, if anywhere."""
        return await self.provider.sign_out_url(f"{visit.origin}{ROOT}/sign-in")

    def _now(self) -> int:
        """Return the time in seconds."""
        return self._services.store.clock.now() // SECOND

    def _redirect_uri(self, visit: SessionRequest) -> str:
        """Return the address that is registered at the provider."""
        return f"{visit.origin}{CALLBACK}"
