"""Live updates for an open page, as server-sent events in one long response."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from hub.http.errors import HubError
from hub.http.response import Response
from hub.ui.errors import NotSignedIn
from hub.ui.headers import SAFE
from hub.ui.section import LiveStream, PanelUpdate
from hub.ui.session_request import SessionRequest
from hub.ui.templating import render
from store import Connection
from store.errors import StoreError
from store.monitoring.stats import DeliveryStats

if TYPE_CHECKING:
    from hub.ui.serve import Dashboard

# In seconds: between two polls, between two heartbeats, and until the browser must reconnect.
PACE, BEAT, LONGEST = 0.5, 15.0, 600.0
# The maximum number of streams in a process.
MOST = 200
HEADERS = ((b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no"))


class Stream(Response):
    """Polls for updates and sends them. The viewer is authorized again each time."""

    open = 0

    def __init__(self, desk: "Dashboard", visit: SessionRequest, live: LiveStream) -> None:
        full = Stream.open >= MOST
        super().__init__(503 if full else 200, b"", [*HEADERS, *SAFE])
        self._desk, self._visit, self._live = desk, visit, live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.status != 200 or scope["method"] == "HEAD":
            await super().__call__(scope, receive, send)
            return
        headers = self.headers
        Stream.open += 1
        gone = asyncio.create_task(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for text in self._texts(gone):
                body = text.encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            Stream.open -= 1
            gone.cancel()

    async def _texts(self, gone: "asyncio.Task[None]") -> AsyncIterator[str]:
        began = said = time.monotonic()
        state: Any = None
        # The time in milliseconds after which a browser reconnects.
        yield "retry: 2000\n\n"
        while not gone.done() and self._desk.seeing.phase != "ending":
            try:
                figures = await self._desk.figures(self._live)
                state, parts = await self._desk.services.store.read(self._step, state, figures)
            except (HubError, NotSignedIn):
                yield _event(PanelUpdate("ended", "ended.html", {}))
                return
            except StoreError:
                # The next page that is requested shows the error.
                parts = []
            now = time.monotonic()
            if parts:
                yield "".join(_event(part) for part in parts)
            elif now - said > BEAT:
                yield ": \n\n"
            said = now if parts or now - said > BEAT else said
            if now - began > LONGEST:
                return
            await asyncio.wait([gone], timeout=PACE)

    def _step(
        self, db: Connection, state: Any, figures: DeliveryStats | None
    ) -> tuple[Any, list[PanelUpdate]]:
        look = self._desk.look(db, self._visit, self._live.who, figures)
        state, parts = self._live.step(look, state)
        values = {"now": db.now, "viewer": look.viewer}
        return state, [
            PanelUpdate(one.event, one.template, {**values, **one.values}) for one in parts
        ]


async def _gone(receive: Receive) -> None:
    with contextlib.suppress(Exception):
        while (await receive())["type"] != "http.disconnect":
            pass


def _event(part: PanelUpdate) -> str:
    html = render(part.template, dict(part.values))
    lines = "".join(f"data: {line}\n" for line in html.splitlines() if line.strip())
    return f"event: {part.event}\n{lines}\n"
