"""The address at which the demonstration's dashboard opens with a session."""

import secrets
from dataclasses import dataclass, field

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hub.ui import cookies
from hub.ui.section import ROOT
from store import Store
from store.accounts import sessions


@dataclass
class DemoDashboard:
    """A path of the hub that signs a browser in. The path is the only credential."""

    store: Store
    token_id: int
    path: str = field(
        default_factory=lambda: f"{ROOT}/demo/{secrets.token_urlsafe(16)}", repr=False
    )

    def before(self, app: ASGIApp) -> ASGIApp:
        """Return an application that answers this path, and leaves all others to `app`."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["path"] == self.path:
                await (await self._signed_in())(scope, receive, send)
            else:
                await app(scope, receive, send)

        return answer

    async def _signed_in(self) -> RedirectResponse:
        session = await self.store.write(sessions.begin, token_id=self.token_id)
        response = RedirectResponse(ROOT, 303, {"Cache-Control": "no-store"})
        response.raw_headers.append(cookies.set_cookie(cookies.SESSION, session, secure=False))
        return response
