"""The look of pages: cards on a phone, the cursor of charts, and the icon that shows trouble."""

import re

from playwright.async_api import expect


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
    await page.emulate_media(media="print")
    await expect(page.locator("#attempts tr").first).to_be_visible()
    for hidden in ("form.filters", "header.top", "td.select", ".actions"):
        await expect(page.locator(hidden).first).to_be_hidden()
