"""The look of pages: cards on a phone, the cursor of charts, and the icon that shows trouble."""

import re

from playwright.async_api import expect

COLOR = "one => getComputedStyle(one).color"


async def test_rows_are_cards_on_a_phone(visit):
    guest = await visit("ada", narrow=True)
    page = await guest.go("/ui/hooks")
    cell = page.locator("tbody tr").first.locator("[data-label=Pending]")
    name = await cell.evaluate("cell => getComputedStyle(cell, '::before').content")
    assert name == '"Pending"'
    row = await page.locator("tbody tr").first.bounding_box()
    window = page.viewport_size
    assert row is not None
    assert window is not None
    assert row["x"] + row["width"] <= window["width"]


async def test_on_a_phone_the_name_leads_to_the_sessions(visit):
    guest = await visit("ada", narrow=True)
    page = await guest.go("/ui")
    link = page.get_by_role("link", name="ada", exact=True)
    await expect(link).to_be_visible()
    top, row = await page.locator("header.top").bounding_box(), await link.bounding_box()
    assert top is not None
    assert row is not None
    assert row["x"] + row["width"] <= top["width"]
    await link.click()
    await expect(page).to_have_url(re.compile("/ui/sessions$"))


async def test_the_choice_of_a_quiet_time_stays_beside_its_button(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/hooks/{server.world.good}")
    for width in (390, 640, 900, 1280):
        await page.set_viewport_size({"width": width, "height": 900})
        choice = await page.get_by_label("Silence for").bounding_box()
        button = await page.get_by_role("button", name="Silence", exact=True).bounding_box()
        assert choice is not None
        assert button is not None
        assert button["y"] < choice["y"] + choice["height"] <= choice["y"] + 2 * button["height"]


async def test_charts_share_a_cursor_and_the_icon_shows_trouble(visit):
    guest = await visit("ada")
    page = await guest.go("/ui")
    assert "bell-trouble" in str(await page.locator("link[rel=icon]").get_attribute("href"))
    charts = page.locator("svg[data-points]")
    assert await charts.count() == 2
    await charts.first.hover()
    await expect(page.locator("svg[data-points] .cursor")).to_have_count(2)
    for reading in await page.locator(".reading").all():
        await expect(reading).to_have_text(re.compile(r"\d\d:\d\d"))
    await page.get_by_role("heading", level=1).hover()
    await expect(page.locator("svg[data-points] .cursor")).to_have_count(0)


async def test_on_paper_there_are_no_controls(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries")
    await expect(page.get_by_role("button", name="Show")).to_be_visible()
    await page.evaluate("document.documentElement.dataset.theme = 'dark'")
    await page.emulate_media(media="print")
    await expect(page.locator("#attempts tr").first).to_be_visible()
    # The text is dark, also in the dark theme.
    assert await page.locator("#attempts td.number").first.evaluate(COLOR) == "rgb(31, 34, 39)"
    for hidden in ("form.filters", "header.top", "td.select", ".actions"):
        await expect(page.locator(hidden).first).to_be_hidden()


async def test_the_system_s_colors_contrast_and_size_of_text_are_followed(visit):
    page = await (await visit("ada")).go("/ui/hooks")
    # Chromium has no means to change the size on a page, so this reads the rule.
    sizes = await page.evaluate(
        "[...document.styleSheets[0].cssRules].filter(rule => rule.selectorText === 'html')"
        ".map(rule => rule.style.font.split('/')[0])"
    )
    assert sizes == ["93.75%"]
    await page.emulate_media(contrast="more", color_scheme="light")
    assert await page.locator("td small").first.evaluate(COLOR) == "rgb(31, 34, 39)"
    await page.emulate_media(contrast="no-preference", forced_colors="active", color_scheme="dark")
    await page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert await page.locator("td .mark.bad").first.evaluate(COLOR) == "rgb(255, 154, 144)"
    line = "one => getComputedStyle(one).textDecorationLine"
    current, other = page.locator(".menu a[aria-current]"), page.locator(".menu a").first
    assert await current.evaluate(line) == "underline"
    assert await other.evaluate(line) == "none"


SPACED = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important;
        word-spacing: .16em !important; }`);
    document.adoptedStyleSheets = [sheet];
}"""


async def test_spaced_text_fits_a_window_of_320_pixels(visit, server):
    guest = await visit("ada")
    await guest.page.set_viewport_size({"width": 320, "height": 640})
    for path in (
        "/ui/hosts/127.0.0.1:1025",
        "/ui/problem?host=127.0.0.1:1025&kind=connect",
        f"/ui/replay?hook={server.world.good}&count=1",
    ):
        page = await guest.go(path)
        await page.evaluate(SPACED)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320, path
        figures = await page.locator("dl.figures").first.evaluate("one => one.scrollWidth")
        assert figures <= 320 - 30, path


async def test_the_bar_of_a_selection_covers_no_focused_row(visit):
    guest = await visit("ada")
    await guest.page.set_viewport_size({"width": 1280, "height": 400})
    page = await guest.go("/ui/deliveries")
    boxes = page.locator("#attempts input[type=checkbox]")
    await boxes.first.check()
    bar = await page.locator("form.retry").bounding_box()
    assert bar is not None
    # With the keys, because a click of Playwright scrolls on its own terms.
    while not await boxes.nth(4).evaluate("one => one === document.activeElement"):
        await page.keyboard.press("Tab")
        below = await page.evaluate("document.activeElement.getBoundingClientRect().bottom")
        bar = await page.locator("form.retry").bounding_box()
        assert below <= bar["y"]
