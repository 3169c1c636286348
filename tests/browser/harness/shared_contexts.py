"""Browser contexts that several tests use, one after the other.

A new context starts a process, which compiles every script again. That takes longer than a page.
"""

from typing import Any

from dashboard_guests import DashboardServer, Guest, Look
from playwright.async_api import Browser, BrowserContext

MOST = 4
"""The number of free contexts that are kept. The process of each has some 100 MB."""
# It has no script. While it is open, the process of its context goes on.
QUIET = "/healthz"

Key = tuple[str, str | None, Look]


class SharedContexts:
    """The contexts that no test uses now, by server, user and look, the last used one last."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[Key, BrowserContext] = {}
        self._taken: dict[BrowserContext, Key] = {}

    async def guest(self, server: DashboardServer, login: str | None, **how: Any) -> Guest:
        """Return a user with a new page, in a context that remembers no earlier user."""
        look = Look(**how)
        key = (server.url, login, look)
        context = self._free.pop(key, None) or await self._open(server, look)
        self._taken[context] = key
        return await Guest.enter(context, server, login)

    async def _open(self, server: DashboardServer, look: Look) -> BrowserContext:
        context = await look.context(self._browser, server)
        await (await context.new_page()).goto(QUIET)
        return context

    async def leave(self, guest: Guest) -> None:
        """Close the pages of a user, and forget what the context stores."""
        context = guest.context
        quiet, *pages = context.pages
        for page in pages:
            await page.close()
        guest.watched.end()
        await context.clear_cookies()
        await context.clear_permissions()
        await quiet.evaluate("localStorage.clear()")
        await self._keep(self._taken.pop(context), context)

    async def _keep(self, key: Key, context: BrowserContext) -> None:
        # A test can have had two contexts that are alike.
        left = self._free.pop(key, None)
        self._free[key] = context
        if left is None and len(self._free) > MOST:
            left = self._free.pop(next(iter(self._free)))
        if left is not None:
            await left.close()

    async def close(self) -> None:
        for context in (*self._free.values(), *self._taken):
            await context.close()
