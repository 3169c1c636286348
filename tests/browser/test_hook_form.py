"""A hook is made, tried, changed, paused and deleted by somebody with a browser."""

import re

from chromium import violations
from playwright.async_api import expect

from store.hooks import hooks


def found(server, url):
    with server.opened() as store:
        return store.do(hooks.by_url, server.world.engine, url)


async def test_make_a_hook_try_it_and_see_its_ping(visit, server):
    url = f"http://127.0.0.1:{server.receiver.port}/made"
    guest = await visit("ada")
    page = await guest.go("/ui/hooks")
    await page.get_by_role("link", name="New hook").click()
    await page.get_by_role("combobox", name="Repository").fill("ada/engine")
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_label("Find an event").fill("issue")
    await expect(page.get_by_label("push", exact=True)).to_be_hidden()
    await page.get_by_label("issues", exact=True).check()
    await expect(page.get_by_text("2 chosen")).to_be_visible()
    await page.get_by_role("combobox", name="Secret").select_option("own")
    await page.get_by_label("Your own secret").fill("a secret to keep")
    await page.get_by_role("button", name="Send a trial").click()
    trial = page.locator("#trial")
    await expect(trial).to_contain_text("status 200")
    await expect(trial).to_contain_text("X-Hub-Signature-256: sha256=")
    assert found(server, url) is None
    # The form still has what was entered.
    await expect(page.get_by_label("Your own secret")).to_have_value("a secret to keep")
    assert await violations(page) == []
    await page.get_by_role("button", name="Create the hook").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been created")
    attempts = page.get_by_role("region", name="Latest attempts")
    await expect(attempts.get_by_role("row", name=re.compile("200.*ping"))).to_have_count(1)
    assert found(server, url)["events"] == ["issues", "push"]


async def test_errors_lead_to_their_fields(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/hooks/{server.world.good}/edit")
    await page.get_by_label("Retry schedule").fill("0, later")
    await page.get_by_label("Timeout").fill("900")
    await page.get_by_role("button", name="Save").click()
    problem = page.get_by_role("alert").first
    await expect(problem).to_contain_text("Nothing has been saved")
    await problem.get_by_role("link", name="Timeout").click()
    field = page.get_by_label("Timeout")
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(field).to_have_accessible_description(re.compile("less than or equal to 120"))
    assert await violations(page) == []


async def test_a_hook_s_life_without_scripts(visit, server):
    url = f"http://127.0.0.1:{server.receiver.port}/plain"
    guest = await visit("ada", scripts=False)
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_role("button", name="Show the request").click()
    await expect(page.locator("#trial")).to_contain_text("It has not been sent")
    await page.get_by_label("all of them").check()
    await page.get_by_role("button", name="Create the hook").click()
    await expect(page.get_by_text("It is shown only this once")).to_be_visible()
    await page.get_by_role("link", name="Back to the hook").click()
    await page.get_by_role("button", name="Pause the hook").click()
    await expect(page.get_by_text("Its deliveries wait.")).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Rate").fill("5")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been changed")
    made = found(server, url)
    assert (made["options"], made["events"], made["paused_at"]) == ({"rate": 5}, ["*"], None)
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_role("link", name="Delete the hook").click()
    await page.get_by_role("button", name="Delete the hook").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been deleted")
    assert found(server, url) is None
