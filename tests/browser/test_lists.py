"""Lists are searched by period, in the user's time zone, and by the values that they show."""

import re
from datetime import datetime, timedelta

from chromium import violations
from playwright.async_api import expect

from store.hooks import hooks

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (UTC|[+-]\d\d:\d\d)")
ZONE = "Asia/Kathmandu"
AHEAD = timedelta(hours=5, minutes=45)


async def test_times_are_shown_in_utc_or_in_the_user_s_zone(visit):
    guest = await visit("ada", zone=ZONE)
    page = await guest.go("/ui/deliveries")
    stamp = page.get_by_role("table").locator("time[data-stamp]").first
    before = STAMP.fullmatch(await stamp.inner_text())
    assert before
    assert before[1] == "UTC"
    await page.get_by_role("button", name="Use local times").click()
    await expect(stamp).to_contain_text("+05:45")
    utc, local = (
        datetime.fromisoformat(text[:19]) for text in (before[0], await stamp.inner_text())
    )
    assert local - utc == AHEAD
    await page.goto("/ui/events")
    await expect(page.get_by_text("Times are local")).to_be_visible()
    await expect(page.get_by_text("From (local)")).to_be_visible()
    await page.goto("/ui")
    await expect(page.get_by_text("Times are local, and UTC in charts.")).to_be_visible()
    await page.goto("/ui/events")
    await page.get_by_role("button", name="Use UTC").click()
    await expect(page.get_by_text("From (UTC)")).to_be_visible()


LISTS = ("/ui/hooks", "/ui/imports", "/ui/topics", "/ui/replay", "/ui/catalogue", "/ui/jobs")


async def test_lists_show_absolute_times(visit):
    guest = await visit("root")
    for path in LISTS:
        page = await guest.go(path)
        stamp = page.get_by_role("table").first.locator("td time[data-stamp]").first
        assert STAMP.fullmatch(await stamp.inner_text()), path


async def test_a_period_can_be_given_in_the_user_s_zone(visit):
    guest = await visit("ada", zone=ZONE)
    page = await guest.go("/ui/deliveries")
    await page.get_by_role("button", name="Use local times").click()
    await page.get_by_label("From").fill("2026-01-02T05:45")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("since=2026-01-02T00%3A00"))
    await expect(page.get_by_label("From")).to_have_value("2026-01-02T05:45")
    assert await page.get_by_role("row").count() > 1
    await page.get_by_label("From").fill("")
    await page.get_by_label(re.compile("^To")).fill("2020-01-01T00:00")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_text("No matching deliveries")).to_be_visible()


async def test_a_list_that_is_renewed_in_place_takes_a_period_in_the_user_s_zone(visit):
    guest = await visit("ada", zone=ZONE)
    page = await guest.go("/ui/hooks")
    await page.get_by_role("button", name="Use local times").click()
    await page.get_by_label("From").fill("2026-01-02T05:45")
    await page.get_by_label("State").select_option("failing")
    await expect(page).to_have_url(re.compile("state=failing.*since=2026-01-02T00%3A00"))
    await expect(page.get_by_label("From")).to_have_value("2026-01-02T05:45")


async def test_a_filter_that_enter_ends_is_one_step_of_the_history(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/hooks")
    begun = await page.evaluate(
        "addEventListener('htmx:beforeHistoryUpdate', () => { window.steps += 1; }), history.length"
    )
    for many, word in enumerate(("good", "closed"), 1):
        field = page.get_by_label("Endpoint")
        await field.fill(word)
        await page.evaluate("window.steps = 0")
        # The field that has changed sends the form, and so does the key.
        await field.press("Enter")
        await page.wait_for_function("() => window.steps === 2")
        assert await page.evaluate("history.length") == begun + many
    await page.go_back()
    await expect(page.get_by_label("Endpoint")).to_have_value("good")
    await page.go_back()
    await expect(page).to_have_url(re.compile("/ui/hooks$"))


async def test_a_filter_can_be_left_with_a_click(visit):
    page = await (await visit("ada")).go("/ui/hooks")
    await page.get_by_label("Repository").fill("ada/engine")
    await page.get_by_label("State").select_option("failing")
    # The answer draws the links again, and may do so during a click.
    await expect(page).to_have_url(re.compile("state=failing&repository=ada%2Fengine"))
    await expect(page.get_by_role("link", name="New hook")).to_have_attribute(
        "href", "/ui/hooks/new?repository=ada/engine"
    )
    await page.get_by_role("link", name="All", exact=True).click()
    await expect(page).to_have_url(re.compile("/ui/hooks$"))


async def test_a_click_reaches_its_link_although_it_ends_a_filter(visit):
    page = await (await visit("ada")).go("/ui/hooks?state=failing")
    await page.get_by_label("Repository").fill("ada/engine")
    await page.get_by_role("link", name="All", exact=True).hover()
    await page.mouse.down()
    await page.wait_for_load_state("networkidle")
    await page.mouse.up()
    await expect(page).to_have_url(re.compile("/ui/hooks$"))


async def test_a_filter_is_used_after_a_click_elsewhere(visit):
    page = await (await visit("ada")).go("/ui/hooks?state=failing")
    await page.get_by_label("Repository").fill("ada/engine")
    await page.get_by_role("heading", level=1).click()
    await expect(page).to_have_url(re.compile("state=failing&repository=ada%2Fengine"))


async def test_a_list_that_is_gone_back_to_has_its_period_in_the_user_s_zone(visit):
    guest = await visit("ada", zone=ZONE)
    page = await guest.go("/ui/hooks?since=2026-01-02T00:00")
    await page.get_by_role("button", name="Use local times").click()
    for state in ("failing", "disabled"):
        await page.get_by_label("State").select_option(state)
        await expect(page).to_have_url(re.compile(f"state={state}.*since=2026-01-02T00%3A00"))
    await page.go_back()
    await expect(page.get_by_label("State")).to_have_value("failing")
    await expect(page.get_by_label("From")).to_have_value("2026-01-02T05:45")
    await page.get_by_label("State").select_option("disabled")
    await expect(page).to_have_url(re.compile("state=disabled.*since=2026-01-02T00%3A00"))


async def test_a_period_in_an_hour_that_is_repeated_stays_as_it_is(visit):
    guest = await visit("ada", zone="Europe/Berlin")
    page = await guest.go("/ui/deliveries?since=2026-10-25T01:30")
    await page.get_by_role("button", name="Use local times").click()
    await expect(page.get_by_label("From")).to_have_value("2026-10-25T02:30")
    # A double click sends the form twice.
    await page.get_by_role("button", name="Show").dblclick()
    await expect(page).to_have_url(re.compile("since=2026-10-25T01%3A30"))
    await expect(page.get_by_label("From")).to_have_value("2026-10-25T02:30")


async def test_a_period_with_seconds_keeps_them_and_can_be_changed(visit):
    guest = await visit("ada", zone=ZONE)
    page = await guest.go("/ui/deliveries?since=2026-01-02T00:00:15")
    await page.get_by_role("button", name="Use local times").click()
    await expect(page.get_by_label("From")).to_have_value("2026-01-02T05:45:15")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("since=2026-01-02T00%3A00%3A15"))
    await page.get_by_label("From").fill("2026-01-02T05:45:20")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("since=2026-01-02T00%3A00%3A20"))


async def test_a_list_that_is_renewed_in_place_says_how_many_entries_it_has(visit):
    page = await (await visit("ada")).go("/ui/hooks")
    said = page.locator("body > [role=status]")
    for name, words in (("127.0.0.1", r"^\d+ hooks?$"), ("nothing.example", "^No matching hooks$")):
        await page.get_by_label("Endpoint").fill(name)
        await page.keyboard.press("Enter")
        await expect(said).to_have_text(re.compile(words))


async def test_filters_accept_the_values_that_lists_show(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries?event=issues.opened")
    await server.post("issues", guid="an-opened-issue", action="opened")
    # Other tests may have made hooks that get it, too.
    row = page.get_by_role("row", name=re.compile("an-opened-issue")).first
    await expect(row).to_be_visible()
    await guest.go("/ui/deliveries")
    await page.get_by_label("Event").fill("issues.opened")
    await page.get_by_label("Endpoint").fill("/good")
    await page.get_by_label("Repository").fill("engi")
    await page.get_by_label("Status code").fill("2xx")
    await page.get_by_label("Period").select_option("last hour")
    await page.get_by_role("button", name="Show").click()
    rows = page.get_by_role("row", name=re.compile(r"issues\.opened"))
    await expect(rows.first).to_be_visible()
    assert await rows.count() == await page.get_by_role("row").count() - 1
    assert await violations(page) == []
    await guest.go("/ui/deliveries?code=600")
    await expect(page.get_by_role("alert")).to_contain_text("not a status code")


async def test_secrets_in_urls_are_shown_when_asked_for(visit, server):
    with server.opened() as store:
        url = f"http://127.0.0.1:{server.receiver.port}/secret?token=s3cr3t"
        made = store.write_sync(
            hooks.create, server.world.engine, url=url, events=["star"], content_type="json"
        )
    guest = await visit("ada")
    page = await guest.go(f"/ui/hooks/{made['id']}")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("/secret?token=•••")
    await expect(page.get_by_text("s3cr3t")).to_be_hidden()
    await page.get_by_text("Show the whole URL").click()
    await expect(page.get_by_text("token=s3cr3t")).to_be_visible()
    assert await violations(page) == []


async def test_opening_a_link_of_your_own_keeps_you_signed_in(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/shared?link={server.world.link}")
    await expect(page.get_by_text("You stay signed in")).to_be_visible()
    await page.get_by_role("button", name="View the deliveries").click()
    await expect(page.get_by_role("button", name="Send a ping")).to_be_visible()


async def test_a_sorted_list_is_saved_as_a_view_without_scripts(visit):
    guest = await visit("ada", scripts=False)
    page = await guest.go("/ui/deliveries?status=success")
    heads = page.get_by_role("columnheader")
    await heads.get_by_role("link", name="Duration").click()
    assert await heads.filter(has_text="Duration").get_attribute("aria-sort") == "descending"
    await page.get_by_text("Save this view").click()
    await page.get_by_label("Name").fill("Slow ones")
    await page.get_by_role("button", name="Save").click()
    assert "The view Slow ones has been saved." in await page.inner_text("main")
    await guest.go("/ui/deliveries")
    await page.get_by_role("link", name="Slow ones").click()
    assert await heads.filter(has_text="Duration").get_attribute("aria-sort") == "descending"
    assert await page.get_by_label("Outcome").input_value() == "success"
    await page.get_by_text("Remove a view").click()
    await page.get_by_role("button", name="Remove the view Slow ones").click()
    assert await page.get_by_role("link", name="Slow ones").count() == 0
