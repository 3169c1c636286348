"""Pages that answer a form have no path of their own, and are as accessible as all other pages."""

from pathlib import Path

import pytest
from chromium import violations
from playwright.async_api import Page, expect

from hub.ui import templating
from hub.ui.site_sections import SECTIONS
from store.hooks import hooks

TEMPLATES = Path(templating.__file__).parent / "templates"
ELSEWHERE = {
    "failed.html": "the pages with the status 403 and 404 in pages.py",
    "signed_out.html": "test_openid.py",
}
"""Templates that other tests open, each with these tests."""


async def create_link(page: Page) -> None:
    await page.get_by_label("Recipient").fill("the team")
    await page.get_by_role("button", name="Create a link").click()
    await expect(page.get_by_text("/ui/shared?link=")).to_be_visible()


async def create_secret(page: Page) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Create a secret").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("The new secret")


async def try_filter(page: Page) -> None:
    await page.get_by_label("Or a payload").fill('{"ref": "refs/tags/v1"}')
    await page.get_by_role("button", name="Test the filter").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Filter test")


FORMS = {
    "link.html": create_link,
    "secret.html": create_secret,
    "filter_test.html": try_filter,
}


def test_every_template_is_looked_at():
    pages = {page.template for section in SECTIONS for page in section.pages}
    whole = {path.name for path in TEMPLATES.glob("*.html") if "_base.html" in path.read_text()}
    assert whole - pages == FORMS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("how", [{}, {"dark": True, "narrow": True}], ids=["wide", "narrow"])
@pytest.mark.parametrize("template", FORMS)
async def test_answer_is_accessible_and_fits(visit, server, template, how, request):
    with server.opened() as store:
        made = store.write_sync(
            hooks.create,
            server.world.engine,
            url=f"http://127.0.0.1:{server.receiver.port}/forms/{request.node.callspec.id}",
            events=["push"],
            content_type="json",
            options={"filter": {"payload": {"ref": {"$startsWith": "refs/tags/"}}}},
        )
    page = await (await visit("ada", **how)).go(f"/ui/hooks/{made['id']}")
    await FORMS[template](page)
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
