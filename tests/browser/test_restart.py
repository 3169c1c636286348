"""A restart of the daemon loses nothing that somebody types, and pages are live again after it."""

import re
from collections.abc import AsyncIterator

import pytest
from daemon import ledger
from dashboard_guests import DashboardServer
from playwright.async_api import Browser, Page, Route, expect
from shared_contexts import SharedContexts

from store.hooks import hooks


@pytest.fixture
async def site(
    anyio_backend: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DashboardServer]:
    """A daemon that the test stops and starts."""
    async with ledger() as receiver:
        made = DashboardServer(tmp_path_factory.mktemp("restart") / "data", receiver)
        try:
            await made.open()
            yield made
        finally:
            await made.close()


async def live(page: Page, words: str) -> None:
    await expect(page.get_by_role("status").filter(has_text=words)).to_be_visible()


async def test_a_form_is_kept_during_a_restart(contexts: SharedContexts, site: DashboardServer):
    guest = await contexts.guest(site, "ada")
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    url = f"http://127.0.0.1:{site.receiver.port}/typed"
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_role("combobox", name="Secret").select_option("own")
    await page.get_by_label("Your own secret").fill("a typed secret")
    await site.close()
    send = page.get_by_role("button", name="Create the hook")
    await send.click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The server does not answer. Nothing was sent")
    await expect(page.get_by_label("URL", exact=True)).to_have_value(url)
    await expect(page.get_by_label("Your own secret")).to_have_value("a typed secret")
    await site.serve()
    await expect(alert).to_contain_text("The server answers again")
    await send.click()
    await expect(page.get_by_role("status").first).to_contain_text("has been created")
    with site.opened() as store:
        assert store.write_sync(hooks.by_url, site.world.engine, url) is not None
    await contexts.leave(guest)
    guest.watched.check()


async def test_a_form_is_kept_while_the_daemon_is_stuck(
    contexts: SharedContexts, site: DashboardServer
):
    guest = await contexts.guest(site, "ada")
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    await page.clock.install()
    icon = await page.locator("link[rel=icon]").get_attribute("href")
    assert icon is not None

    async def leave_open(route: Route) -> None:
        """Never answer."""

    await page.route(f"**{icon}", leave_open)
    await page.get_by_label("URL", exact=True).fill("https://receiver.example/typed")
    async with page.expect_request(f"**{icon}"):
        await page.get_by_role("button", name="Create the hook").click()
    await page.clock.fast_forward("00:10")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The server does not answer. Nothing was sent")
    await page.unroute(f"**{icon}")
    await page.clock.fast_forward("00:12")
    await expect(alert).to_contain_text("The server answers again")
    await contexts.leave(guest)


async def test_a_live_page_follows_the_daemon_that_comes_next(
    contexts: SharedContexts, site: DashboardServer
):
    guest = await contexts.guest(site, "ada")
    page = await guest.go(f"/ui/hooks/{site.world.good}")
    await live(page, "Live")
    await site.close()
    await live(page, "Connecting")
    await site.serve()
    await site.post(guid="after-the-restart")
    await live(page, "Live")
    row = page.get_by_role("row", name=re.compile("after-the-restart"))
    await expect(row).to_have_count(1)
    await contexts.leave(guest)
    guest.watched.check()
