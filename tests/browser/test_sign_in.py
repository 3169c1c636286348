"""Users sign in and out, and another site cannot act in their name."""

import re
from collections.abc import AsyncIterator

import pytest
from chromium import violations
from foreign_site import Elsewhere, another_site
from playwright.async_api import expect


@pytest.fixture
async def elsewhere(anyio_backend: str) -> AsyncIterator[Elsewhere]:
    async with another_site() as made:
        yield made


async def test_users_sign_in_and_out(visit, server):
    guest = await visit(None)
    page = await guest.go("/ui")
    await expect(page).to_have_url(re.compile(r"/ui/sign-in\?next=%2Fui$"))
    await expect(page.get_by_label("Token")).to_be_focused()
    await page.keyboard.type(server.world.ada)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{server.url}/ui")
    (cookie,) = [one for one in await guest.context.cookies() if one["name"] == "tocsin_ui"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/ui")
    assert server.world.ada not in await page.content()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await guest.go("/ui")
    await expect(page).to_have_url(re.compile("/ui/sign-in"))
    # After the sign-out, a copy of the cookie is invalid.
    await guest.context.add_cookies([cookie])
    await guest.go("/ui")
    await expect(page).to_have_url(re.compile("/ui/sign-in"))


async def test_a_wrong_token_is_reported_accessibly(visit):
    guest = await visit(None)
    page = await guest.go("/ui/sign-in")
    field = page.get_by_label("Token")
    await field.fill("tsp_nothing")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("No such token")
    await expect(field).to_have_accessible_description(re.compile("No such token"))
    assert await violations(page) == []


async def test_without_scripts(visit, server):
    guest = await visit(None, scripts=False)
    page = await guest.go("/ui/sign-in")
    await page.get_by_label("Token").fill(server.world.ada)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{server.url}/ui")


async def test_the_skip_link_is_the_first_stop(visit):
    guest = await visit("ada")
    page = await guest.go("/ui")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()


async def test_colours_are_kept(visit):
    guest = await visit("ada")
    page = await guest.go("/ui")
    html = page.locator("html")
    await expect(html).to_have_attribute("data-theme", "auto")
    for theme in ("dark", "light", "auto"):
        await page.get_by_role("button", name=f"change to {theme}").click()
        await expect(html).to_have_attribute("data-theme", theme)


@pytest.mark.parametrize("site", ["localhost", "127.0.0.1"])
async def test_a_forged_post_is_refused(visit, server, elsewhere, site):
    """A page of another site posts a form, and so does a page on another port of this host.

    For SameSite, another port is the same site. The browser sends the cookie, and the hub must
    require more than the cookie.
    """
    guest = await visit("ada")
    guest.watched.also(f"http://{site}:{elsewhere.port}")
    elsewhere.target = f"{server.url}/ui/sign-out"
    async with guest.page.expect_response(elsewhere.target) as answered:
        await guest.page.goto(f"http://{site}:{elsewhere.port}/")
    answer = await answered.value
    assert answer.status == 403
    page = await guest.go("/ui")
    await expect(page).to_have_url(f"{server.url}/ui")


async def test_the_cookie_alone_is_not_enough(server, client):
    """A program sends the cookie, but not the token that the forms of pages contain."""
    cookie = f"tocsin_ui={server.session('ada')}"
    for headers in (
        {},
        {"Origin": server.url},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
    ):
        answer = await client.post("/ui/sign-out", headers={**headers, "Cookie": cookie})
        assert answer.status_code == 403
    assert (await client.get("/ui", headers={"Cookie": cookie})).status_code == 200
