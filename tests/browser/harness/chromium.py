"""The system's Chromium without its windows, and what a page in it asked for."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    async_playwright,
)
from waiting import PATIENCE

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    # As root, in a container, and asking for nothing by itself.
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
    # Names of other machines have no address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]  # fmt: skip
AXE = Path(__file__).parent / "axe" / "axe.min.js"
# WCAG 2.2 AA, and what is beyond a rule of it but harms all the same.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def program() -> str:
    """The browser's program; the test is skipped where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no chromium here: apt-get install chromium-headless-shell")
    return found


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """A browser without a profile."""
    path = program()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=FLAGS, timeout=PATIENCE * 1000
        )
        try:
            yield browser
        finally:
            await browser.close()


class Watched:
    """The requests of the pages of one context, and their errors."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.origins = {origin}
        self.asked: list[str] = []
        self.complaints: list[str] = []
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _request(self, request: Request) -> None:
        self.asked.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        # An answer other than 2xx is an error in the console, and no fault of the page.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.complaints.append(message.text)

    @property
    def outside(self) -> list[str]:
        """Requests that left the server that is tested."""
        return [url for url in self.asked if not self._is_inside(url)]

    def _is_inside(self, url: str) -> bool:
        parts = urlsplit(url)
        return (
            parts.scheme in ("data", "about") or f"{parts.scheme}://{parts.netloc}" in self.origins
        )

    def also(self, origin: str) -> None:
        """Another site, which the test has to do with."""
        self.origins.add(origin)

    def check(self) -> None:
        """Nothing from elsewhere, nothing that the policy forbids, no script that failed."""
        assert self.outside == [], self.outside
        assert self.complaints == [], self.complaints


async def violations(page: Page, *impacts: str) -> list[dict[str, Any]]:
    """The findings of axe on a page: of these impacts, or serious and critical."""
    await page.evaluate(AXE.read_text(encoding="utf-8") + "; null")
    # All that axe looked at is megabytes, which take longer to bring here than to look at.
    found = await page.evaluate(
        "tags => axe.run(document, {runOnly: tags, resultTypes: ['violations']})"
        ".then(result => result.violations)",
        TAGS,
    )
    wanted = impacts or ("serious", "critical")
    return [
        {
            "rule": one["id"],
            "impact": one["impact"],
            "help": one["help"],
            "at": [[*node["target"], node["failureSummary"]] for node in one["nodes"][:5]],
        }
        for one in found
        if one["impact"] in wanted
    ]
