"""The tasks of a person on call, as clicks and keys that begin on the overview."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from busy_night import WORD, NightServer
from counted_clicks import Clicks
from playwright.async_api import Locator, Page, expect

START = "/ui"
Steps = Callable[[Page, Clicks, NightServer], Awaitable[None]]


@dataclass(frozen=True)
class Task:
    """A task, and the most clicks that it may take."""

    name: str
    most: int
    steps: Steps


async def open_menu(page: Page, name: str) -> None:
    await page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()


def unhealthy(page: Page) -> Locator:
    return page.get_by_role("region", name="Unhealthy endpoints, a table")


async def tab_to(page: Page, field: Locator) -> None:
    """Press the Tab key until a field has the focus."""
    while not await field.evaluate("one => one === document.activeElement"):
        await page.keyboard.press("Tab")


async def enter_moment(page: Page, moment: datetime) -> None:
    """Type a date and a time into the focused field, in the format of the browser's language."""
    await page.keyboard.type(f"{moment:%m%d%Y}")
    await page.keyboard.press("Tab")
    await page.keyboard.type(f"{moment:%I%M%p}")


async def find_out_why(page: Page, clicks: Clicks, server: NightServer) -> None:
    row = unhealthy(page).get_by_role("row", name="night/21")
    await expect(row).to_contain_text("Failing")
    await row.get_by_role("link", name="401", exact=True).click()
    await expect(page.get_by_role("heading", name="Response")).to_be_in_viewport()
    await expect(page.get_by_role("main")).to_contain_text("401")


async def find_refused_payload(page: Page, clicks: Clicks, server: NightServer) -> None:
    night = server.night
    await open_menu(page, "Deliveries")
    await page.get_by_label("Outcome").click()
    await page.keyboard.type("failed")
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_label(re.compile("^From ")))
    await enter_moment(page, night.refused_at)
    await tab_to(page, page.get_by_label(re.compile("^To ")))
    await enter_moment(page, night.refused_at + timedelta(minutes=1))
    await page.keyboard.press("Enter")
    # The port of a receiver's address can contain these digits too.
    answered = page.get_by_role("cell", name=re.compile("^422"))
    await answered.get_by_role("link").first.click()
    await expect(page).to_have_url(re.compile(f"/ui/deliveries/{night.refused}$"))
    await expect(page.get_by_text("There is no branch gone").first).to_be_in_viewport()
    await expect(page.locator(".json-string", has_text="refused in the night")).to_be_in_viewport()


async def find_word(page: Page, clicks: Clicks, server: NightServer) -> None:
    await open_menu(page, "Deliveries")
    await clicks.enter(page.get_by_label("Text in payload or answer"), WORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text(server.night.word_guid).first).to_be_in_viewport()


async def replay_failed(page: Page, clicks: Clicks, server: NightServer) -> None:
    await unhealthy(page).get_by_role("link", name="night/24").click()
    await page.get_by_role("link", name="Retry what failed").click()
    before = server.receiver.got.total()
    await page.get_by_role("button", name=re.compile(r"^Send \d+ deliveries$")).click()
    await expect(page.get_by_role("region", name="Progress")).to_contain_text("done")
    assert server.receiver.got.total() > before


async def make_hook(page: Page, clicks: Clicks, server: NightServer) -> None:
    await open_menu(page, "Hooks")
    await page.get_by_role("link", name="New hook").click()
    await expect(page.get_by_role("combobox", name="Repository")).to_be_focused()
    await page.keyboard.type("ada/engine")
    await page.keyboard.press("Tab")
    await page.keyboard.type(f"http://127.0.0.1:{server.receiver.port}/made")
    await page.get_by_role("button", name="Create the hook").click()
    await page.get_by_role("link", name="Send an event").click()
    await page.get_by_role("button", name="Send the push event").click()
    attempts = page.get_by_role("region", name="Latest attempts")
    await expect(attempts.get_by_role("row", name=re.compile("200.*push"))).to_have_count(1)


TASKS = (
    Task("why an endpoint fails", 2, find_out_why),
    Task("the payload refused at 03:12", 3, find_refused_payload),
    Task("a word of a payload", 2, find_word),
    Task("replay what failed tonight for one hook", 3, replay_failed),
    Task("make a hook and send it an example", 5, make_hook),
)
