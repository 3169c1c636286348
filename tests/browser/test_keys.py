"""Keyboard shortcuts of the dashboard, rows that open when they are clicked, and the menu."""

import re

import pytest
from chromium import violations
from playwright.async_api import expect


async def test_keys_go_through_a_list(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries")
    links = page.locator("#attempts td.outcome a")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await expect(links.nth(1)).to_be_focused()
    await page.keyboard.press("k")
    await expect(links.nth(0)).to_be_focused()
    await page.keyboard.press("/")
    field = page.get_by_label("Text in payload or answer")
    await expect(field).to_be_focused()
    # In a field, a key types a letter.
    await page.keyboard.type("jk/?r")
    await expect(field).to_have_value("jk/?r")
    await field.blur()
    await page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    await expect(dialog).to_be_visible()
    assert await violations(page) == []
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()


async def test_the_keys_can_be_switched_off_and_on(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries")
    dialog = page.get_by_role("dialog", name="Keys")
    for is_on in (False, True):
        await page.get_by_role("button", name="Keys").click()
        box = dialog.get_by_role("checkbox", name="The keys are on")
        assert await box.is_checked() is not is_on
        assert await violations(page) == []
        await box.set_checked(is_on)
        await dialog.get_by_role("button", name="Close").click()
        for _ in range(2):
            await page.keyboard.press("/")
            focused = await page.evaluate("document.activeElement.id")
            assert (focused == "text") is is_on
            await page.get_by_role("heading", level=1).click()
            # The browser remembers the choice.
            await page.reload()


async def test_a_page_without_a_search_leads_to_the_deliveries(visit):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await page.keyboard.press("/")
    await expect(page).to_have_url(re.compile("/ui/deliveries#text$"))
    await expect(page.get_by_label("Text in payload or answer")).to_be_focused()


async def test_a_key_reloads_the_page(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/hooks")
    async with page.expect_navigation():
        await page.keyboard.press("r")
    await expect(page).to_have_url(re.compile("/ui/hooks$"))


async def test_the_key_reloads_no_form_that_is_filled_in(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/hooks/new")
    field = page.get_by_label("Retry schedule")
    choice = page.locator("[name=content_type]")
    usual = await choice.input_value()
    other = await choice.locator("option:not(:checked)").get_attribute("value")
    for filled, value, former in ((field, "0, 60", ""), (choice, other, usual)):
        fill = filled.fill if filled is field else filled.select_option
        await fill(value)
        await page.get_by_text("Headers", exact=True).click()
        await page.keyboard.press("r")
        # A reload would have begun before the next key is handled.
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        await expect(filled).to_have_value(value)
        await page.keyboard.press("Escape")
        await fill(former)
    await page.get_by_role("heading", level=1).click()
    async with page.expect_navigation():
        await page.keyboard.press("r")


async def test_the_whole_row_opens(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries?status=failure")
    # Other tests delete hooks, and the rows of their attempts open nothing.
    row = page.locator("#attempts tr").filter(has=page.get_by_role("link")).first
    await row.get_by_role("checkbox").check()
    await expect(page).to_have_url(re.compile(r"/ui/deliveries\?"))
    await row.locator("td.number").click()
    await expect(page).to_have_url(re.compile(r"/ui/deliveries/\d+$"))


async def test_a_text_is_found_with_two_clicks(visit, server):
    await server.post("push", guid="with-a-word", note="campanile")
    guest = await visit("ada", scripts=False)
    page = await guest.go("/ui/deliveries")
    await page.get_by_label("Text in payload or answer").fill("CAMPANILE")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_text("with-a-word").first).to_be_visible()


async def test_the_menu_has_two_levels(visit):
    for how in ({}, {"narrow": True, "dark": True}, {"scripts": False}):
        guest = await visit("ada", **how)
        page = await guest.go("/ui/hooks")
        menu = page.get_by_role("navigation", name="Main")
        await expect(menu.get_by_role("link", name="Topics")).to_be_hidden()
        await menu.get_by_text("More").click()
        await expect(menu.get_by_role("link", name="Topics")).to_be_in_viewport()
        if how.get("scripts", True):
            # The open menu covers parts of the page for a moment.
            rules = {one["rule"] for one in await violations(page)}
            assert rules <= {"target-size"}
        await menu.get_by_role("link", name="Catalogue").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Catalogue of events")
        await expect(menu.locator("summary")).to_have_text("Catalogue")


@pytest.mark.parametrize("path", ["/ui", "/ui/hooks", "/ui/deliveries", "/ui/audit"])
async def test_the_menus_second_level_fits_a_phone(visit, path):
    """Its entry ends a line of the menu on one page, and begins a line on another."""
    guest = await visit("root", narrow=True)
    page = await guest.go(path)
    entry = page.get_by_role("navigation", name="Main").locator("summary")
    await entry.click()
    for link in await entry.locator("xpath=..").get_by_role("link").all():
        await expect(link).to_be_in_viewport(ratio=1)


async def test_the_menus_second_level_closes_with_escape_and_when_it_is_left(visit):
    page = await (await visit("ada")).go("/ui/hooks")
    menu = page.locator("details.more")
    entry, link = menu.locator("summary"), menu.get_by_role("link").first
    await entry.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await expect(link).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(link).to_be_hidden()
    await expect(entry).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(link).to_be_visible()
    await page.keyboard.press("Shift+Tab")
    await expect(link).to_be_hidden()
