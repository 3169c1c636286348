"""The users who look at the dashboard in the tests, and the pages that they open."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
from chromium import Watched
from daemon import Ledger, Site
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize
from waiting import PATIENCE, until
from world import World, fill_store

from store.accounts import sessions, tokens

COOKIE = "tocsin_ui"
WIDE = ViewportSize(width=1280, height=800)
NARROW = ViewportSize(width=360, height=740)


class DashboardServer(Site):
    """A site with the data of `world.py`, and its daemon."""

    def __init__(self, folder: Path, receiver: Ledger) -> None:
        super().__init__(folder)
        self.receiver = receiver
        self.url = ""
        with self.opened() as store:
            self.world: World = store.write_sync(fill_store, f"http://127.0.0.1:{receiver.port}")

    async def open(self) -> None:
        """Start the daemon, and wait until each delivery has had an attempt."""
        daemon = await self.serve()
        self.url = daemon.url
        await until(lambda: all(row["attempts"] for row in self.rows()), "the first attempts")

    def session(self, login: str) -> str:
        """The cookie of a user who signed in with their token."""

        def begin(db: Any) -> str:
            token = tokens.find(db, getattr(self.world, login))
            assert token is not None
            return sessions.begin(db, token_id=token["id"])

        with self.opened() as store:
            return str(store.write_sync(begin))

    async def post(self, name: str = "push", guid: str = "", **fields: Any) -> str:
        """Post an event of ada/engine with ada's token. Return its delivery id."""
        headers = {"Authorization": f"Bearer {self.world.ada}"}
        headers |= {"X-GitHub-Delivery": guid} if guid else {}
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            url = f"{self.url}/ada/engine/events/{name}"
            body: Mapping[str, Any] = {"ref": "refs/heads/main", "commits": [], **fields}
            answer = await client.post(url, json=body, headers=headers)
        answer.raise_for_status()
        return str(answer.json()["id"])


def session_cookie(server: DashboardServer, login: str) -> Any:
    """Begin a session of a user. Return its cookie for a browser context."""
    return {
        "name": COOKIE,
        "value": server.session(login),
        "domain": "127.0.0.1",
        "path": "/ui",
        "httpOnly": True,
        "sameSite": "Strict",
    }


@dataclass(frozen=True)
class Look:
    """The settings of a browser context."""

    dark: bool = False
    narrow: bool = False
    scripts: bool = True
    zone: str = "UTC"

    async def context(self, browser: Browser, server: DashboardServer) -> BrowserContext:
        """Open a browser context whose pages have this look."""
        opened = await browser.new_context(
            base_url=server.url,
            viewport=NARROW if self.narrow else WIDE,
            color_scheme="dark" if self.dark else "light",
            java_script_enabled=self.scripts,
            reduced_motion="reduce",
            locale="en",
            timezone_id=self.zone,
        )
        opened.set_default_timeout(PATIENCE * 1000)
        return opened


@dataclass
class Guest:
    """A user of the dashboard, with an open page."""

    server: DashboardServer
    context: BrowserContext
    page: Page
    watched: Watched
    _opened: tuple[str, int, str] | None = None
    """The path that was opened last, its status, and the URL to which it led."""

    @classmethod
    async def arrive(
        cls, browser: Browser, server: DashboardServer, login: str | None, **how: Any
    ) -> Self:
        """Open a page in a new browser context. If `login` is not None, sign in that user."""
        return await cls.enter(await Look(**how).context(browser, server), server, login)

    @classmethod
    async def enter(
        cls, context: BrowserContext, server: DashboardServer, login: str | None
    ) -> Self:
        """Open a page in a browser context. If `login` is not None, sign in that user."""
        watched = Watched(context, server.url)
        if login is not None:
            await context.add_cookies([session_cookie(server, login)])
        return cls(server, context, await context.new_page(), watched)

    async def look(self, *, dark: bool = False, narrow: bool = False) -> None:
        """Set the window size and the colours, which an earlier test may have changed."""
        await self.page.set_viewport_size(NARROW if narrow else WIDE)
        await self.page.emulate_media(color_scheme="dark" if dark else "light")

    async def go(self, path: str, status: int = 200) -> Page:
        """Open a path, such as `/ui/hooks`, and check the status. Return the page."""
        self._opened = None
        answer = await self.page.goto(path)
        assert answer is not None
        assert answer.status == status, await self.page.inner_text("body")
        self._opened = path, status, self.page.url
        return self.page

    async def see(self, path: str, status: int = 200) -> Page:
        """Do the same as `go`, but stay on the page if this path was opened last."""
        if self._opened == (path, status, self.page.url):
            return self.page
        return await self.go(path, status)


Visiting = Callable[..., Awaitable[Guest]]
