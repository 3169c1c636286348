"""The pages of imports that wait for a user: begin again, give a password, choose a project, or
cancel.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import violations
from dashboard_guests import DashboardServer
from git_site import GitSite, git_site, stream
from playwright.async_api import Locator, Page, expect

from store.accounts import accounts
from store.imports import imports
from store.repositories import repositories

PASSWORD = "open sesame"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[GitSite]:
    with git_site(tmp_path / "served") as site:
        yield site


def start(server: DashboardServer, name: str, url: str) -> str:
    """Create a repository of ada's with an import from `url`. Return the path of its page."""
    with server.opened() as store:
        ada = store.read_sync(accounts.by_login, "ada")
        assert ada is not None
        repo = store.write_sync(repositories.create, ada["id"], name)
        store.write_sync(imports.start, repo["id"], ada["id"], url)
    return f"/ui/imports/{repo['id']}"


def state(page: Page) -> Locator:
    return page.get_by_role("region", name="State")


async def test_a_failed_import_can_be_started_again(visit, server, source):
    page_of = start(server, "began-again", f"{source.url}/bells.git")
    page = await (await visit("ada")).go(page_of)
    await expect(state(page)).to_contain_text("No repository was found at this URL")
    source.bells()
    await page.get_by_role("button", name="Begin again").click()
    await expect(page.get_by_role("status").first).to_contain_text("begins again")
    await expect(state(page)).to_contain_text("Done")
    assert await violations(page) == []


async def test_a_source_behind_a_password_is_answered(visit, server, source):
    source.bells()
    source.password = PASSWORD
    page_of = start(server, "behind-a-password", f"{source.url}/bells.git")
    page = await (await visit("ada")).go(page_of)
    await expect(state(page)).to_contain_text("A username and password are needed")
    await expect(page.get_by_role("heading", name="Sign in at the source")).to_be_visible()
    assert await violations(page) == []
    await page.get_by_label("User name").fill("ada")
    await page.get_by_label("Password or token").fill(PASSWORD)
    await page.get_by_role("button", name="Begin again").click()
    await expect(page.get_by_role("status").first).to_contain_text("begins again")
    await expect(state(page)).to_contain_text("Done")
    assert PASSWORD not in await page.content()


async def test_one_of_several_projects_is_chosen(visit, server, source):
    for name in ("rope", "cart"):
        source.repository(f"group/{name}", stream(1))
    page_of = start(server, "chosen-project", f"{source.url}/group")
    page = await (await visit("ada", scripts=False)).go(page_of)
    # Without scripts, the user reloads the page.
    await until_reloaded(page, "Several projects were found")
    assert await page.get_by_label("Project", exact=True).locator("option").all_inner_texts() == [
        "cart.git",
        "rope.git",
    ]
    await page.get_by_label("Project", exact=True).select_option("rope.git")
    await page.get_by_role("button", name="Begin again").click()
    await until_reloaded(page, "Done")
    await expect(page.get_by_label("Project", exact=True)).to_have_count(0)


async def until_reloaded(page: Page, text: str) -> None:
    for _ in range(100_000):
        if text in await state(page).inner_text():
            return
        await page.reload()
    raise AssertionError(await state(page).inner_text())


async def test_one_is_cancelled_when_that_is_confirmed(visit, server):
    page_of = start(server, "cancelled", "http://127.0.0.1:1025/closed.git")
    guest = await visit("ada")
    page = await guest.go(page_of)
    questions: list[str] = []

    async def answer(dialog):
        questions.append(dialog.message)
        await (dialog.accept() if len(questions) > 1 else dialog.dismiss())

    page.on("dialog", answer)
    await page.get_by_role("button", name="Cancel the import").click()
    await page.reload()
    await page.get_by_role("button", name="Cancel the import").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been cancelled")
    assert questions == ["Cancel this import? The data fetched so far is removed."] * 2
    await guest.go(page_of, 404)
