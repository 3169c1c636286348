"""The picture of the dashboard in the README and in the manual; `TOCSIN_PICTURES=1` takes it.

A list of the words that the picture shows is kept beside this file, so a picture of an earlier
dashboard is noticed.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from chromium import Watched
from daemon import Site
from dashboard_guests import COOKIE
from ordinary_hour import FAILING, fill_store
from playwright.async_api import Browser, Page, expect

PICTURE = Path(__file__).parents[2] / "hub" / "docs" / "images" / "dashboard.png"
WORDS = Path(__file__).parent / "readme_picture.txt"
SHOWN = ".menu > ul > li > a, h1, h2, .figures dt, figcaption, [role=tab], .views a"
MOST_BYTES = 300_000
SIZE = {"width": 1280, "height": 796}


@pytest.fixture
async def overview(browser: Browser, tmp_path: Path) -> AsyncIterator[Page]:
    """The overview, after an ordinary hour."""
    site = Site(tmp_path)
    with site.opened() as store:
        session = store.write_sync(fill_store)
    daemon = await site.serve()
    context = await browser.new_context(
        base_url=daemon.url, viewport=SIZE, reduced_motion="reduce", locale="en", timezone_id="UTC"
    )
    watched = Watched(context, daemon.url)
    cookie = {"name": COOKIE, "value": session, "domain": "127.0.0.1", "path": "/ui"}
    await context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])
    page = await context.new_page()
    await page.goto("/ui")
    yield page
    await context.close()
    await site.close()
    watched.check()


async def words_of(page: Page) -> str:
    """The menu, the headings and the names of the figures that are within the picture."""
    found = await page.eval_on_selector_all(
        SHOWN,
        """all => all
            .filter((one) => one.checkVisibility() && one.getBoundingClientRect().top < innerHeight)
            .map((one) => one.textContent.replace(/\\s+/g, " ").trim())""",
    )
    return "".join(f"{one}\n" for one in found)


async def test_the_picture_shows_an_ordinary_hour(overview: Page):
    await expect(overview.get_by_text(FAILING).first).to_be_visible()
    words = await words_of(overview)
    if os.environ.get("TOCSIN_PICTURES"):
        await overview.screenshot(path=PICTURE, animations="disabled")
        WORDS.write_text(words, encoding="utf-8")
    assert words == WORDS.read_text(encoding="utf-8"), "TOCSIN_PICTURES=1 takes a new picture"


def test_the_picture_is_there_and_small():
    assert PICTURE.exists(), "TOCSIN_PICTURES=1 takes it"
    assert PICTURE.stat().st_size < MOST_BYTES
