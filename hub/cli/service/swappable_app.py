"""An application that can be replaced by another one while it serves."""

import contextlib

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send


class SwappableApp:
    """Passes every request to the application that was put there last.

    Requests that another one has begun to answer are still answered by that.
    """

    def __init__(self) -> None:
        self._app: Starlette | None = None
        self._lifespan = contextlib.AsyncExitStack()

    async def put(self, app: Starlette) -> None:
        """Have this application answer from now on; the one before it ends."""
        async with contextlib.AsyncExitStack() as begun:
            await begun.enter_async_context(app.router.lifespan_context(app))
            before, self._lifespan = self._lifespan, begun.pop_all()
        self._app = app
        await before.aclose()

    async def close(self) -> None:
        """End the application; the server has ended before it."""
        await self._lifespan.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            # Applications come and go: `put` and `close` tell them.
            for phase in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{phase}.complete"})
            return
        assert self._app is not None
        await self._app(scope, receive, send)
