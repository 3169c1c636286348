"""Live updates for open pages, as server-sent events in one long response.

A browser has one such stream for all its pages, if they can share it. The request names the views
that the pages show.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson
from starlette.types import Receive, Scope, Send

from hub.admin.administrators import AdminAuth
from hub.admin.observability import Observability
from hub.http.errors import HubError
from hub.http.response import Response
from hub.rest.context import Services
from hub.rest.fetching.long_polls import disconnected
from hub.rest.request import Request
from hub.ui.errors import NotSignedIn
from hub.ui.headers import SAFE
from hub.ui.section import Audience, LiveStream, PanelUpdate
from hub.ui.session_request import SessionRequest
from hub.ui.stream_places import StreamPlace, StreamPlaces
from hub.ui.templating import render
from hub.ui.view_context import ViewContext
from store import Connection
from store.delivery.listing.attempt_following import FeedPosition
from store.errors import Invalid, Missing, StoreError
from store.monitoring.stats import DeliveryStats

# In seconds: between two polls, between two heartbeats, and until the browser must reconnect.
PACE, BEAT, LONGEST = 0.5, 15.0, 600.0
# The maximum number of views in a stream.
MOST_VIEWS = 32
HEADERS = ((b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no"))


class LivePages(Protocol):
    """The part of the dashboard that a stream uses."""

    services: Services
    observability: Observability
    admins: AdminAuth

    def live_at(self, path: str) -> tuple[LiveStream | None, dict[str, str]]:
        """Return the live view at a path, and the path's parameters."""

    async def figures(self, view: LiveStream) -> DeliveryStats | None:
        """Return the installation's figures, if the view needs them."""

    def context(
        self, db: Connection, visit: SessionRequest, who: Audience, figures: DeliveryStats | None
    ) -> ViewContext:
        """Return the context for the view's handler. Raises NotSignedIn or Forbidden."""


@dataclass(slots=True)
class LiveView:
    """A live view of an open page, in one stream.

    `number` is its place among the views that the browser named.
    """

    number: int
    at: str
    live: LiveStream
    visit: SessionRequest
    state: Any = None

    def message(self, update: PanelUpdate) -> str:
        """Return the event that brings an update to its page."""
        html = render(update.template, dict(update.values))
        values = {"view": self.number, "event": update.event, "html": html, "next": self._next()}
        return _event("update", values)

    def _next(self) -> str:
        """Return the address at which the browser continues after this update."""
        parts = urlsplit(self.at)
        asked = {**dict(parse_qsl(parts.query, keep_blank_values=True)), "resumed": "1"}
        if isinstance(self.state, FeedPosition):
            asked["after"] = str(self.state.newest)
        return f"{parts.path}?{urlencode(asked)}"


def views(dashboard: LivePages, visit: SessionRequest) -> list[LiveView]:
    """Return the views that the request names as `at`. Unknown ones are left out."""
    query = visit.request.scope["query_string"].decode("latin-1")
    named = [value for name, value in parse_qsl(query) if name == "at"][:MOST_VIEWS]
    found = []
    for number, at in enumerate(named):
        path, _, given = at.partition("?")
        live, values = dashboard.live_at(path)
        if live is not None:
            scope = {**visit.request.scope, "query_string": given.encode("latin-1", "replace")}
            request = Request(scope, visit.request.receive, values)
            found.append(LiveView(number, at, live, SessionRequest(visit.services, request)))
    return found


class Stream(Response):
    """Polls for updates and sends them. The viewer is authorized again each time.

    It answers 503 if there is no place for it. If it loses its place, it ends with `crowded`.
    """

    places = StreamPlaces()

    def __init__(self, dashboard: LivePages, visit: SessionRequest) -> None:
        super().__init__(503 if Stream.places.is_full(visit) else 200, b"", [*HEADERS, *SAFE])
        self._dashboard, self._visit = dashboard, visit
        self._views = views(dashboard, visit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.status != 200 or scope["method"] == "HEAD":
            await super().__call__(scope, receive, send)
            return
        headers = self.headers
        place = Stream.places.take(self._visit)
        gone = asyncio.create_task(disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for text in self._texts(gone, place):
                body = text.encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            Stream.places.leave(place)
            gone.cancel()

    async def _texts(self, gone: "asyncio.Task[None]", place: StreamPlace) -> AsyncIterator[str]:
        began = said = time.monotonic()
        yield _event("begin", {})
        while not gone.done() and self._dashboard.observability.phase != "ending":
            if place.lost:
                yield _event("crowded", {})
                return
            try:
                text = await self._updates()
            except NotSignedIn:
                yield _event("ended", {})
                return
            now = time.monotonic()
            if text:
                yield text
            elif now - said > BEAT:
                yield ": \n\n"
            said = now if text or now - said > BEAT else said
            if now - began > LONGEST:
                yield _event("reconnect", {})
                return
            await asyncio.wait([gone], timeout=PACE)

    async def _updates(self) -> str:
        """Return the updates of all views, as events."""
        try:
            await self._dashboard.services.store.read(self._check)
            return "".join([await self._update(view) for view in [*self._views]])
        except StoreError:
            # The browser's next request for a page shows the error.
            return ""

    async def _update(self, view: LiveView) -> str:
        try:
            figures = await self._dashboard.figures(view.live)
            view.state, parts = await self._dashboard.services.store.read(self._step, view, figures)
        except (HubError, Missing):
            # The page loads again, and says what has gone.
            self._views.remove(view)
            return _event("update", {"view": view.number, "event": "ended"})
        except Invalid:
            return ""
        return "".join(view.message(part) for part in parts)

    def _check(self, db: Connection) -> None:
        """Check that the session is the one with which the pages were opened."""
        viewer = self._visit.authenticate(db, self._dashboard.admins)
        if viewer is None or self._visit.request.query.get("mark") not in (None, self._visit.mark):
            raise NotSignedIn

    def _step(
        self, db: Connection, view: LiveView, figures: DeliveryStats | None
    ) -> tuple[Any, list[PanelUpdate]]:
        ctx = self._dashboard.context(db, view.visit, view.live.who, figures)
        state, parts = view.live.step(ctx, view.state)
        values = {
            "now": db.now,
            "viewer": ctx.viewer,
            "unseen": ctx.unseen,
            "csrf": view.visit.form_token(),
        }
        return state, [
            PanelUpdate(one.event, one.template, {**values, **one.values}) for one in parts
        ]


def _event(name: str, values: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {orjson.dumps(values).decode()}\n\n"
