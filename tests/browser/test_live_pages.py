"""Pages that stay open: many in one browser, hidden, paused, and under the pointer."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from hub.ui.formatting import ago
from store.clock import SECOND

MANY = 10
"""More than the connections that a browser opens to one host."""
HIDE = """hidden => {
  Object.defineProperty(document, "visibilityState", {value: hidden ? "hidden" : "visible", configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""  # noqa: E501 - one statement


async def live(page: Page) -> None:
    await expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


def row(page: Page, guid: str):
    return page.get_by_role("row", name=re.compile(guid))


async def test_many_pages_of_one_browser_are_live(visit, server):
    guest = await visit("ada")
    place = f"/ui/hooks/{server.world.good}"
    pages = [guest.page, *[await guest.context.new_page() for _ in range(MANY - 1)]]
    for page in pages:
        await page.goto(place)
        await live(page)
    await server.post(guid="for-all-pages")
    for page in pages:
        await expect(row(page, "for-all-pages")).to_have_count(1)
    # If one page is closed, the other pages keep their connection.
    await pages[0].close()
    await pages[1].goto("/ui")
    await server.post(guid="for-those-left")
    for page in pages[2:]:
        await expect(row(page, "for-those-left")).to_have_count(1)


async def test_a_browser_without_shared_workers_is_live(visit, server):
    guest = await visit("ada")
    await guest.page.add_init_script("delete window.SharedWorker")
    page = await guest.go(f"/ui/hooks/{server.world.good}")
    await live(page)
    await server.post(guid="without-workers")
    await expect(row(page, "without-workers")).to_have_count(1)


@pytest.mark.parametrize("shared", [True, False])
async def test_a_hidden_page_continues_where_it_was(visit, server, shared):
    guest = await visit("ada")
    if not shared:
        await guest.page.add_init_script("delete window.SharedWorker")
    page = await guest.go(f"/ui/hooks/{server.world.good}")
    await live(page)
    before, after = f"before-{shared}", f"after-{shared}"
    await server.post(guid=before)
    await expect(row(page, before)).to_have_count(1)
    await page.evaluate(HIDE, True)
    await server.post(guid=after)
    await page.evaluate(HIDE, False)
    await expect(row(page, after)).to_have_count(1)
    await expect(row(page, before)).to_have_count(1)


async def test_signing_out_on_one_page_renews_the_others(visit):
    guest = await visit("root")
    page = await guest.go("/ui/deliveries")
    await live(page)
    other = await guest.context.new_page()
    await other.goto("/ui/hooks")
    await other.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_url(re.compile("/ui/sign-in"))


async def test_a_paused_list_counts_new_deliveries(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await live(page)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("status").filter(has_text="Paused")).to_be_visible()
    for number in range(2):
        await server.post(guid=f"while-paused-{number}")
    await expect(page.get_by_role("button", name="2 new")).to_be_visible()
    await expect(row(page, "while-paused")).to_have_count(0)
    await page.get_by_role("button", name="2 new").click()
    await expect(row(page, "while-paused")).to_have_count(2)
    await expect(page.get_by_role("row").nth(1)).to_contain_text("while-paused-1")
    await page.get_by_role("button", name="Resume").click()
    await server.post(guid="no-longer-paused")
    await expect(row(page, "no-longer-paused")).to_have_count(1)
    # The number of matches is the one of the page.
    await expect(page.get_by_text(re.compile("delivery attempts?, and 3 new$"))).to_be_visible()


async def test_a_list_stays_still_under_the_pointer(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await live(page)
    first = page.get_by_role("row").nth(1)
    text = await first.inner_text()
    await first.hover()
    await server.post(guid="under-the-pointer")
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    assert (await first.inner_text()).split()[1:4] == text.split()[1:4]
    await page.get_by_role("heading", level=1).hover()
    await expect(row(page, "under-the-pointer")).to_have_count(1)


async def test_a_list_stays_still_while_it_has_the_focus(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await live(page)
    link = page.get_by_role("row").nth(1).get_by_role("link").first
    await link.focus()
    await server.post(guid="beside-the-focus")
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    await expect(link).to_be_focused()
    await page.get_by_role("button", name="1 new").press("Enter")
    await expect(row(page, "beside-the-focus")).to_have_count(1)


async def test_a_list_stays_still_while_rows_are_selected(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await live(page)
    await page.locator("#attempts").evaluate("list => { list.dataset.most = 1; }")
    await page.get_by_role("checkbox").nth(1).check()
    await server.post(guid="beside-the-selection")
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    # Neither the pointer nor the focus is in the list any more.
    retry = page.get_by_role("button", name="Retry the selected")
    await retry.hover()
    await retry.focus()
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await retry.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Retry 1 delivery?")


async def test_a_list_goes_on_after_its_selection_has_ended(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await live(page)
    await page.get_by_role("checkbox").nth(1).check()
    await server.post(guid="until-nothing-is-selected")
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    every = page.get_by_label("Select all")
    await every.check()
    await every.uncheck()
    await page.get_by_role("heading", level=1).hover()
    await expect(row(page, "until-nothing-is-selected")).to_have_count(1)


async def test_a_list_that_waits_keeps_only_the_rows_that_it_will_show(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await live(page)
    await page.locator("#attempts").evaluate("list => { list.dataset.most = 1; }")
    await page.evaluate(
        """() => {
            const text = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
            const set = function (html) {
                window.parsed = Math.max(window.parsed || 0, html.split("<tr").length - 1);
                text.set.call(this, html);
            };
            Object.defineProperty(Element.prototype, "innerHTML", { ...text, set });
        }"""
    )
    await page.get_by_role("checkbox").nth(1).check()
    for number, guid in enumerate(("waits-first", "waits-second", "waits-third"), 1):
        await server.post(guid=guid)
        await expect(page.get_by_role("button", name=f"{number} new")).to_be_visible()
    await page.get_by_role("button", name="3 new").click()
    await expect(row(page, "waits-third")).to_have_count(1)
    await expect(page.get_by_text(re.compile("delivery attempts?, and 3 new$"))).to_be_visible()
    assert await page.evaluate("window.parsed") == 1


async def test_the_focus_stays_where_a_panel_is_renewed(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await live(page)
    link = page.get_by_role("region", name=re.compile("endpoints, a table")).get_by_role("link")
    await link.first.focus()
    href = await link.first.get_attribute("href")
    old = await link.first.element_handle()
    await server.post()
    await page.wait_for_function("one => !one.isConnected", arg=old)
    assert await page.evaluate("document.activeElement.getAttribute('href')") == href


async def test_the_focus_stays_where_a_list_is_polled(visit):
    guest = await visit("root")
    page = await guest.go("/ui/jobs")
    button = page.get_by_role("button", name="Run now: prune")
    await button.focus()
    old = await button.element_handle()
    async with page.expect_request("**/ui/jobs", timeout=0) as polled:
        await page.wait_for_function("one => !one.isConnected", arg=old)
    # The hub does not take it for a use of the session.
    assert (await polled.value).headers["x-renewal"] == "1"
    await expect(button).to_be_focused()
    # While the list is paused, it sends no request.
    await page.get_by_role("button", name="Pause").click()
    asked = len(guest.watched.asked)
    await page.evaluate("htmx.trigger('#list', 'every')")
    assert len(guest.watched.asked) == asked


async def renew_while_pressed(guest, server, pressed: Locator):
    """Press something on a page. Return once another page of the browser has newer figures."""
    other = await guest.context.new_page()
    await other.goto("/ui")
    await live(other)
    await pressed.hover()
    await guest.page.mouse.down()
    old = await other.locator("[data-swap=figures] > *").first.element_handle()
    await server.post()
    await other.wait_for_function("one => !one.isConnected", arg=old)


async def test_a_click_reaches_its_link_although_its_panel_is_renewed(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await live(page)
    # In these tests, the alarm of a backlog is off, which is the link among the figures.
    await page.evaluate(
        "document.querySelector('[data-swap=figures]').innerHTML = '<a href=/ui/hooks>Alarm</a>'"
    )
    await renew_while_pressed(guest, server, page.get_by_role("link", name="Alarm"))
    await page.mouse.up()
    await expect(page).to_have_url(re.compile("/ui/hooks$"))


async def test_pressed_figures_are_renewed_after_the_release(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await live(page)
    figures = await page.locator("[data-swap=figures] > *").first.element_handle()
    await renew_while_pressed(guest, server, page.get_by_role("button", name="Pause"))
    # The release is elsewhere, so the page is not paused.
    await page.get_by_role("heading", level=1).hover()
    await page.mouse.up()
    await page.wait_for_function("one => !one.isConnected", arg=figures)


async def test_a_click_reaches_its_link_although_its_list_is_polled(visit):
    page = await (await visit("root")).go("/ui/jobs")
    link = page.get_by_role("link", name="Job", exact=True)
    href = await link.get_attribute("href")
    await link.hover()
    async with page.expect_response("**/ui/jobs", timeout=0):
        await page.mouse.down()
    await page.wait_for_load_state("networkidle")
    await page.mouse.up()
    await expect(page).to_have_url(re.compile(f"{re.escape(href)}$"))


async def test_without_scripts_a_page_does_not_claim_to_connect(visit):
    guest = await visit("ada", scripts=False)
    for path in ("/ui", "/ui/deliveries"):
        page = await guest.go(path)
        await expect(page.get_by_text("Reload the page for news")).to_be_visible()
        await expect(page.get_by_text("Connecting")).to_have_count(0)
        await expect(page.get_by_role("button", name="Pause")).to_be_hidden()


async def test_the_script_writes_times_as_the_server_does(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/hooks")
    hour, day = 3600, 86400
    asked = [0, 61, 7 * day - 1, -7 * day + 1, 1.5 * hour - 1, 1.5 * hour, hour - 1, -36 * hour]
    said = await page.evaluate("lengths => lengths.map(ago)", asked)
    assert said == [ago(-round(length * SECOND), 0) for length in asked]
