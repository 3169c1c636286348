"""An ASGI application that can be replaced while it serves."""

import contextlib

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send


class SwappableApp:
    """Passes every request to the application that `put` set last.

    Requests that an earlier application is processing are still answered by that application.
    """

    def __init__(self) -> None:
        self._app: Starlette | None = None
        self._lifespan = contextlib.AsyncExitStack()

    async def put(self, app: Starlette) -> None:
        """Start this application, pass requests to it from now on, and end the one before it."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(app.router.lifespan_context(app))
            before, self._lifespan = self._lifespan, stack.pop_all()
        self._app = app
        await before.aclose()

    async def close(self) -> None:
        """End the application. The server must have ended before."""
        await self._lifespan.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            # The server's lifespan is not passed on: `put` and `close` run each application's own.
            for phase in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{phase}.complete"})
            return
        assert self._app is not None
        await self._app(scope, receive, send)
