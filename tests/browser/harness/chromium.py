"""The system's Chromium in headless mode, and the requests and errors of its pages."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
    async_playwright,
)
from waiting import PATIENCE

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SWITCHED_OFF = (
    # A new frame for each page of a site takes longer than the same frame again.
    "RenderDocument",
    # Playwright switches these off. Chromium reads only the last flag of a name.
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "PaintHolding", "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying",
)  # fmt: skip
FLAGS = [
    # It can run as root and in a container, and sends no requests of its own.
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
    # Names of other machines have no address.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    f"--disable-features={','.join(SWITCHED_OFF)}",
]  # fmt: skip
AXE = Path(__file__).parent / "axe" / "axe.min.js"
# WCAG 2.2 AA, and best practices that WCAG does not require.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def program() -> str:
    """Return the path of the browser's program. Skip the test if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no chromium here: apt-get install chromium-headless-shell")
    return found


@asynccontextmanager
async def launched(*flags: str) -> AsyncIterator[Browser]:
    """A browser without a profile, with these flags."""
    path = program()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=[*FLAGS, *flags], timeout=PATIENCE * 1000
        )
        try:
            yield browser
        finally:
            await browser.close()


class Watched:
    """The requests and the errors of all pages of one browser context."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.origins = {origin}
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self._context = context
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", self._weberror)

    def end(self) -> None:
        """Watch no longer."""
        self._context.remove_listener("request", self._request)
        self._context.remove_listener("console", self._console)
        self._context.remove_listener("weberror", self._weberror)

    def _request(self, request: Request) -> None:
        self.asked.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        # The console also reports each error status of a response, which is no fault of the page.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.complaints.append(message.text)

    def _weberror(self, error: WebError) -> None:
        self.complaints.append(str(error.error))

    @property
    def outside(self) -> list[str]:
        """The requests to hosts other than the tested server and the sites of `also`."""
        return [url for url in self.asked if not self._is_inside(url)]

    def _is_inside(self, url: str) -> bool:
        parts = urlsplit(url)
        return (
            parts.scheme in ("data", "about") or f"{parts.scheme}://{parts.netloc}" in self.origins
        )

    def also(self, origin: str) -> None:
        """Allow requests to another site, which the test needs."""
        self.origins.add(origin)

    def check(self) -> None:
        """Assert that no request went to another host, and that the browser reported no error."""
        assert self.outside == [], self.outside
        assert self.complaints == [], self.complaints


# The whole result of axe has megabytes. Their transfer would take longer than the checks.
RUN = """tags => {
    if (!globalThis.axe) globalThis.loadAxe?.();
    return globalThis.axe && axe.run(document, {runOnly: tags, resultTypes: ['violations']})
        .then(result => result.violations);
}"""
# The pages that axe has checked.
_checked: WeakSet[Page] = WeakSet()


async def _bring_axe(page: Page) -> None:
    """Load axe into the document of a page. If this is the second one, later ones can load it."""
    source = AXE.read_text(encoding="utf-8")
    if page in _checked:
        await page.add_init_script(f"globalThis.loadAxe = () => {{ {source} }};")
    _checked.add(page)
    await page.evaluate(f"{source}; null")


async def violations(page: Page, *impacts: str) -> list[dict[str, Any]]:
    """The findings of axe on a page that have these impacts. Default: serious and critical."""
    found = await page.evaluate(RUN, TAGS)
    if found is None:
        await _bring_axe(page)
        found = await page.evaluate(RUN, TAGS)
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
