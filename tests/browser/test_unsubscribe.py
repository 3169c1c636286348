"""The page behind the links in mails, without JavaScript and without signing in."""

from chromium import violations
from dashboard_guests import DashboardServer
from playwright.async_api import expect

from hub.mail import links
from hub.rest.urls import Urls
from store import Connection
from store.accounts import accounts


async def test_a_receiver_unsubscribes_and_subscribes_again(visit, server: DashboardServer):
    def link(db: Connection) -> str:
        ada = accounts.by_login(db, "ada")
        assert ada is not None
        return links.link(db, Urls(server.url), ada["id"], [server.world.failing])

    with server.opened() as store:
        place = store.write_sync(link)
    guest = await visit(None, scripts=False, narrow=True, dark=True)
    page = await guest.go(place)
    await expect(page.get_by_role("main")).to_contain_text("of ada/engine (127.0.0.1:1025)")
    await page.get_by_role("button", name="Unsubscribe").click()
    await expect(page.get_by_role("status")).to_contain_text("You get no more mail about")
    await page.get_by_role("button", name="Subscribe again").click()
    await expect(page.get_by_role("status")).to_contain_text("You get mail again")
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


async def test_the_page_is_accessible(visit, server: DashboardServer):
    guest = await visit(None)
    page = await guest.go("/alerts/unsubscribe?account=1&hooks=1&signature=no", 403)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Alerts by mail")
    assert await violations(page) == []
