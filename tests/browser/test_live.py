"""Open pages show new deliveries, and a delivery can be sent again from its page."""

import re

import pytest
from chromium import violations
from foreign_site import another_site
from playwright.async_api import expect
from waiting import Stopwatch, until

from store.delivery import attempt_feed
from store.delivery.attempt_filter import AttemptFilter


@pytest.fixture
async def elsewhere(anyio_backend):
    async with another_site() as made:
        yield made


async def newest(server) -> int:
    """The id of the latest attempt of the hook `good`."""
    with server.opened() as store:
        wanted = AttemptFilter(hook_id=server.world.good)
        return int(store.read_sync(attempt_feed.page, wanted, limit=1).rows[0]["id"])


async def recorded(server, guid: str) -> None:
    """Wait until the store has all attempts to deliver an event to receivers that listen.

    Hooks of other tests may filter the event out.
    """
    closed = (server.world.failing, server.world.retrying)

    def arrived() -> bool:
        rows = [row for row in server.rows() if row["guid"] == guid]
        states = {row["state"] for row in rows if row["hook_id"] not in closed}
        return states <= {"delivered", "filtered"}

    await until(arrived, "the attempts")


async def test_a_delivery_is_there_soon_after_its_event(visit, server):
    guest = await visit("ada")
    loading = Stopwatch()
    page = await guest.go(f"/ui/deliveries?hook={server.world.good}")
    await expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    loaded = loading.seconds()
    waited = []
    for number in range(9):
        guid = f"seen-soon-{number}"
        await server.post(guid=guid)
        posted = Stopwatch()
        await expect(page.get_by_role("row", name=re.compile(guid))).to_have_count(1)
        waited.append(posted.seconds())
        # The newest delivery is the first row.
        await expect(page.get_by_role("row").nth(1)).to_contain_text(guid)
    assert sorted(waited)[4] < 10 * loaded, f"the page took {loaded} s, its news {waited} s"


async def test_filtered_out_deliveries_do_not_appear(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries?event=issues")
    await expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    issues = page.get_by_role("row", name=re.compile("issues"))
    before = await issues.count()
    await server.post(guid="a-push")
    await server.post("issues", guid="an-issue", action="closed")
    # Other tests may have made several hooks that get it.
    await expect(issues).not_to_have_count(before)
    assert await page.get_by_text("a-push").count() == 0


async def test_filters_are_in_the_url(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui/deliveries")
    await page.get_by_label("Outcome").select_option("failed")
    await page.get_by_label("Event").fill("push")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile(r"status=failure.*event=push"))
    await page.reload()
    await expect(page.get_by_label("Event")).to_have_value("push")
    said = await page.locator("td.outcome .status").all_inner_texts()
    assert said
    assert not [text for text in said if re.search(r"\b200\b", text)]


async def test_another_sees_nothing_of_it(visit, server):
    guest = await visit("bob")
    page = await guest.go("/ui/deliveries")
    await expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    guid = "not-for-bob"
    await server.post(guid=guid)
    await expect(page.get_by_text(guid)).to_have_count(0)
    assert await page.get_by_text("ada/engine").count() == 0
    await guest.go(f"/ui/deliveries/{await newest(server)}", 403)


async def test_delivered_again_from_its_page(visit, server):
    guid = await server.post(guid="to-be-sent-again")
    await recorded(server, guid)
    guest = await visit("ada")
    page = await guest.go(f"/ui/deliveries?guid={guid}&hook={server.world.good}")
    await expect(row := page.get_by_role("row", name=re.compile("200"))).to_have_count(1)
    await row.get_by_role("link").first.click()
    await expect(page.get_by_role("heading", name="Timing")).to_be_visible()
    before = server.receiver.got[guid]
    await page.get_by_role("button", name="Redeliver").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been queued")
    await until(lambda: server.receiver.got[guid] == before + 1, "the delivery once more")
    assert await violations(page) == []


@pytest.mark.parametrize("site", ["localhost", "127.0.0.1"])
async def test_another_site_has_nothing_delivered_again(visit, server, elsewhere, site):
    guest = await visit("ada")
    guest.watched.also(f"http://{site}:{elsewhere.port}")
    elsewhere.target = f"{server.url}/ui/deliveries/{await newest(server)}/again"
    before = len(server.rows())
    async with guest.page.expect_response(elsewhere.target) as answered:
        await guest.page.goto(f"http://{site}:{elsewhere.port}/")
    answer = await answered.value
    if site == "localhost":
        # From another site, the browser sends no cookie, and the hub redirects to the sign-in page.
        # `all_headers()` would wait for ever if Chromium left out its second report of a redirect.
        assert "sign-in" in answer.headers["location"]
    else:
        assert answer.status == 403
    # The page of another site's request loads itself again. Chromium loses a close in between.
    await expect(guest.page.get_by_role("alert")).to_be_visible()
    assert len(server.rows()) == before
