"""The page of a hook: a ping, a new secret, a link for other people, and use without a mouse."""

import re

import pytest
from chromium import violations
from playwright.async_api import expect
from waiting import until

from store.hook_state import hook_pauses
from store.hooks import hooks


@pytest.fixture(scope="module")
def mine(server):
    """The path of the page of a hook of ada/engine, which only these tests use."""
    with server.opened() as store:
        made = store.write_sync(
            hooks.create,
            server.world.engine,
            url=f"http://127.0.0.1:{server.receiver.port}/mine",
            events=["push"],
            content_type="json",
        )
    return f"/ui/hooks/{made['id']}"


async def test_a_ping_appears_by_itself(visit, mine):
    guest = await visit("ada")
    page = await guest.go(mine)
    assert await violations(page) == []
    await page.get_by_role("button", name="Send a ping").click()
    await expect(page.get_by_role("status").first).to_contain_text("A ping has been queued")
    attempts = page.get_by_role("region", name="Latest attempts")
    await expect(attempts.get_by_role("row", name=re.compile("200.*ping"))).to_have_count(1)
    await expect(attempts.get_by_text("No deliveries yet")).to_be_hidden()


async def test_a_double_click_sends_one_ping(visit, mine):
    guest = await visit("ada")
    page = await guest.go(mine)
    sent = []
    page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    await page.get_by_role("button", name="Send a ping").dblclick()
    await expect(page.get_by_role("status").first).to_contain_text("A ping has been queued")
    assert [url.rpartition("/")[2] for url in sent] == ["ping"]
    await page.go_back()
    await page.get_by_role("button", name="Send a ping").click()
    await expect(page.get_by_role("status").first).to_contain_text("A ping has been queued")
    assert len(sent) == 2


async def test_another_secret_is_shown_once(visit, mine):
    guest = await visit("ada")
    page = await guest.go(mine)
    page.on("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Create a secret").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("The new secret")
    assert await violations(page) == []
    (value,) = set(re.findall(r"\b[0-9a-f]{64}\b", await page.get_by_role("main").inner_text()))
    await page.get_by_role("link", name="Back to the hook").click()
    await expect(page.get_by_text("Deliveries are signed")).to_be_visible()
    assert value not in await page.content()


async def test_a_dismissed_dialog_changes_nothing(visit, mine, server):
    guest = await visit("ada")
    page = await guest.go(mine)
    page.on("dialog", lambda dialog: dialog.dismiss())
    await page.get_by_role("button", name="Switch off").click()
    await page.reload()
    await expect(page.get_by_role("button", name="Switch off")).to_be_visible()


async def test_a_link_for_the_receivers_developer(visit, mine):
    guest = await visit("ada")
    page = await guest.go(mine)
    await page.get_by_label("Recipient").fill("the <b>team</b>")
    await page.get_by_role("button", name="Create a link").click()
    place = await page.get_by_text("/ui/shared?link=").inner_text()
    await page.get_by_role("link", name="Back to the hook").click()
    await expect(page.get_by_role("cell", name="the <b>team</b>", exact=True)).to_be_visible()
    other = await visit(None)
    await other.go(place)
    assert await violations(other.page) == []
    await other.page.get_by_role("button", name="View the deliveries").click()
    await expect(other.page.get_by_role("heading", level=1)).to_contain_text("/mine")
    await expect(other.page.get_by_role("button", name="Send a ping")).to_have_count(0)
    assert await violations(other.page) == []
    await other.go("/ui/hooks", status=403)
    page.on("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="End the link for the <b>team</b>").click()
    await expect(page.get_by_text("The link no longer works")).to_be_visible()
    await other.go(mine)
    await expect(other.page).to_have_url(re.compile("/ui/sign-in"))


async def test_the_overview_goes_on_by_itself(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    count = page.locator("dt", has_text="Events").locator("xpath=following-sibling::dd/strong")
    before = int(re.sub(r"\D", "", await count.inner_text()))
    await server.post()
    await expect(count).to_have_text(str(before + 1))


async def test_a_hook_can_be_managed_by_keyboard(visit, mine):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await page.goto("/ui/hooks")
    await page.get_by_label("State").focus()
    await page.keyboard.press("ArrowDown")
    await expect(page).to_have_url(re.compile(r"state=unhealthy"))
    await expect(
        page.get_by_role("table").get_by_role("row", name=re.compile("mine"))
    ).to_have_count(0)


async def test_a_long_url_and_a_long_error_fit_each_window(visit, server):
    host = ".".join(["h" * 60] * 3)
    with server.opened() as store:
        made = store.write_sync(
            hooks.create, server.world.engine, url=f"http://{host}.example/{'p' * 400}",
            events=["watch"], options={"retries": [0]},
        )  # fmt: skip
    guid = await server.post("watch", guid="to-a-long-url")
    await until(
        lambda: all(row["attempts"] for row in server.rows() if row["guid"] == guid), "the attempt"
    )
    with server.opened() as store:
        error = {"error": "x" * 190, "id": made["id"]}
        change = "UPDATE attempt SET error = :error WHERE hook_id = :id"
        store.write_sync(lambda db: db.execute(change, **error) and None)
        last = "SELECT max(id) FROM attempt WHERE hook_id = :id"
        attempt = store.read_sync(lambda db: db.value(last, id=made["id"]))
    for look in ({}, {"narrow": True}):
        guest = await visit("ada", **look)
        at = f"/ui/hooks/{made['id']}"
        for path in (at, f"{at}/delete", f"{at}/edit", f"/ui/deliveries/{attempt}"):
            page = await guest.go(path)
            assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


async def test_the_theme_sets_the_colours(visit):
    guest = await visit("ada", dark=True)
    page = await guest.go("/ui/hooks")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = await page.evaluate(ground)
    for theme in ("dark", "light"):
        await page.get_by_role("button", name=f"change to {theme}").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", theme)
    assert await page.evaluate(ground) != dark
    assert page.url.endswith("/ui/hooks")


async def test_a_list_without_scripts(visit, server):
    guest = await visit("ada", scripts=False)
    page = await guest.go("/ui/hooks")
    await page.get_by_label("State").select_option("failing")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("state=failing"))
    await page.get_by_role("row").nth(1).get_by_role("link").first.click()
    await expect(page.get_by_role("heading", level=1)).to_be_visible()


async def test_without_scripts_no_button_is_dead(visit, server):
    guest = await visit("ada", scripts=False)
    page = await guest.go(f"/ui/topics/{server.world.engine}")
    await expect(page.locator(".command").first).to_be_visible()
    assert await page.locator("button[type=button]:visible").count() == 0


async def test_an_ordered_hook_with_a_key_has_its_own_parts_on_a_phone(visit, server):
    options = {"ordering": "repository", "signatures": ["v1a"]}
    with server.opened() as store:
        made = store.write_sync(
            hooks.create, server.world.engine, url=f"http://127.0.0.1:{server.receiver.port}/in-order",
            events=["deployment"], options=options,
        )  # fmt: skip
    guest = await visit("ada", narrow=True)
    page = await guest.go(f"/ui/hooks/{made['id']}")
    for name in ("Ordered deliveries", "Signing key"):
        await expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert await violations(page, "moderate", "serious", "critical") == []
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keys", exact=True)).to_be_visible()


async def test_the_state_of_a_hook_goes_on_by_itself(visit, mine, server):
    guest = await visit("ada")
    page = await guest.go(mine)
    button = page.get_by_role("button", name="Pause the hook")
    old = await button.element_handle()
    hook_id = int(mine.rpartition("/")[2])

    def pause(db):
        return hook_pauses.pause(db, hooks.by_id(db, hook_id))

    await page.get_by_role("button", name="Silence", exact=True).focus()
    with server.opened() as store:
        paused = store.write_sync(pause)
    await expect(page.get_by_text("Its deliveries wait.")).to_be_visible()
    await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    await expect(button).to_have_count(0)
    assert await page.evaluate("one => !one.isConnected", old)
    await expect(page.locator("[data-swap=actions] :focus")).to_have_count(1)
    assert await violations(page) == []
    with server.opened() as store:
        store.write_sync(hook_pauses.resume, paused)
    await expect(button).to_be_visible()
    await expect(page.get_by_text("Its deliveries wait.")).to_have_count(0)
