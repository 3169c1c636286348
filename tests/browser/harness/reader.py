"""One page in one browser context, on which several users look at the dashboard in turn.

A context for each user would have a process of its own, which compiles axe again.
"""

from typing import Any, Self

from dashboard_guests import DashboardServer, Guest, session_cookie
from playwright.async_api import Browser

# A page without a script, which sends no request while the cookies change.
QUIET = "/healthz"


class Reader:
    """A guest who becomes another user, for tests that load pages and change nothing."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._login: str | None = None
        self._cookies: dict[str, Any] = {}

    @classmethod
    async def arrive(cls, browser: Browser, server: DashboardServer) -> Self:
        return cls(await Guest.arrive(browser, server, None))

    async def become(self, login: str | None, **look: bool) -> Guest:
        """Return the guest, who is this user now, or nobody, and whose page has this look."""
        if login != self._login:
            await self._change(login)
        await self._guest.look(**look)
        return self._guest

    async def _change(self, login: str | None) -> None:
        await self._guest.go(QUIET)
        await self._guest.context.clear_cookies()
        self._login = login
        if login is not None:
            # One session for each user, because a page lists the sessions.
            if login not in self._cookies:
                self._cookies[login] = session_cookie(self._guest.server, login)
            await self._guest.context.add_cookies([self._cookies[login]])

    async def close(self) -> None:
        """Close the context, and assert that its pages loaded and reported nothing wrong."""
        await self._guest.context.close()
        self._guest.watched.check()
