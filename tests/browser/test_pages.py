"""Every page passes axe's rules, fits the window, and loads nothing from other servers.

With `TOCSIN_PICTURES=1`, the tests renew the pictures in the folder `pictures`. With
`TOCSIN_PICTURES=FOLDER`, they write a picture of every whole page to the folder, in each width and
colour.
"""

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from chromium import violations
from dashboard_guests import DashboardServer, Guest
from page_routes import unvisited
from pages import PAGES, Shown

from store.delivery import attempt_feed
from store.delivery.attempt_filter import AttemptFilter

PICTURES = Path(__file__).parent / "pictures"
# The height of a picture, which shows only the beginning of a long page.
TALL = 1100
# Each width in both colours. The browser draws the page anew for each setting that differs.
VIEWS = (
    (1440, "light"), (1440, "dark"), (1024, "dark"), (1024, "light"), (390, "light"), (390, "dark"),
)  # fmt: skip
LOOKS = {"light": {}, "dark-narrow": {"dark": True, "narrow": True}}


def path_of(shown: Shown, server: DashboardServer) -> str:
    # Another test may have deleted the hook of any other attempt.
    wanted = AttemptFilter(hook_id=server.world.good)
    with server.opened() as store:
        attempt = store.read_sync(attempt_feed.page, wanted, limit=50).rows[-1]["id"]
    return shown.path.format(**asdict(server.world), attempt=attempt)


def test_every_page_is_among_them():
    assert unvisited(shown.path for shown in PAGES) == set()


# Pages of one user follow one another, because another user has to sign in first.
BY_USER = [
    pytest.param(one, id=f"{one.login}{one.path}")
    for one in sorted(PAGES, key=lambda one: one.login or "")
]
# Tests of the same page follow one another, so that the page is loaded once.
EACH_PAGE = pytest.mark.parametrize("shown", BY_USER, scope="module")
# Only pages with a picture, one of each kind, are also checked dark and narrow.
WITH_PICTURE = [param for param in BY_USER if param.values[0].picture]


SCROLLED = "document.documentElement.scrollWidth - innerWidth"
# The innermost elements without which the page would fit.
TOO_WIDE = """(() => {
    const root = document.documentElement, wide = root.scrollWidth, found = [];
    for (const one of document.body.querySelectorAll("*")) {
        const before = one.style.display;
        one.style.display = "none";
        if (root.scrollWidth < wide) found.push(`${one.tagName} ${one.outerHTML.slice(0, 120)}`);
        one.style.display = before;
    }
    return found.slice(-2);
})()"""


async def _check(guest: Guest, server: DashboardServer, shown: Shown, look: str) -> None:
    """Check a page, and take its picture if that is wanted."""
    page = await guest.go(path_of(shown, server), shown.status)
    assert await page.get_by_role("heading", level=1).count() == 1
    assert await violations(page, "moderate", "serious", "critical") == []
    scrolled = await page.evaluate(SCROLLED)
    assert scrolled <= 0, f"the page scrolls sideways: {await page.evaluate(TOO_WIDE)}"
    if shown.picture and os.environ.get("TOCSIN_PICTURES") == "1":
        await _picture(guest, PICTURES / f"{shown.picture}-{look}.png")


@EACH_PAGE
async def test_page_is_accessible_and_fits_the_window(read, server: DashboardServer, shown: Shown):
    await _check(await read(shown.login), server, shown, "light")


@pytest.mark.parametrize("pictured", WITH_PICTURE)
async def test_dark_and_narrow_page_is_accessible_and_fits_the_window(
    read, server: DashboardServer, pictured: Shown
):
    guest = await read(pictured.login, **LOOKS["dark-narrow"])
    await _check(guest, server, pictured, "dark-narrow")


# From this width on, rows are not shown as cards, and tables have room.
TABLES = 1024
CUT = """[...document.querySelectorAll(".wide")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.ariaLabel}: ${one.scrollWidth} of ${one.clientWidth}`)"""


@EACH_PAGE
async def test_page_fits_every_window(read, server: DashboardServer, shown: Shown):
    guest: Guest = await read(shown.login)
    page = await guest.see(path_of(shown, server), shown.status)
    before: tuple[Any, ...] = (None, None)
    for width, colours in VIEWS:
        if width != before[0]:
            await page.set_viewport_size({"width": width, "height": 900})
        if colours != before[1]:
            await page.emulate_media(color_scheme=colours)
        before = width, colours
        scrolled, cut = await page.evaluate(f"[{SCROLLED}, {CUT}]")
        assert scrolled <= 0, f"too wide for {width}: {await page.evaluate(TOO_WIDE)}"
        assert width < TABLES or cut == [], f"cut at {width}"
        if len(folder := os.environ.get("TOCSIN_PICTURES", "")) > 1:
            name = re.sub(r"[^a-z0-9]+", "-", shown.path.removeprefix("/ui").lower()).strip("-")
            path = Path(folder, f"{name or 'overview'}-{shown.login}-{width}-{colours}.png")
            await page.screenshot(path=path, animations="disabled", full_page=True)


async def _picture(guest: Guest, path: Path) -> None:
    size = guest.page.viewport_size
    assert size is not None
    await guest.page.set_viewport_size({**size, "height": TALL})
    await guest.page.screenshot(path=path, animations="disabled")


def test_every_picture_is_kept():
    """The folder has a picture of each page with a `picture`, in each look, and no other file."""
    wanted = {f"{shown.picture}-{look}.png" for shown in PAGES if shown.picture for look in LOOKS}
    assert {path.name for path in PICTURES.glob("*.png")} == wanted, "TOCSIN_PICTURES=1 takes them"
