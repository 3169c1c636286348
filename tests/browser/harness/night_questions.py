"""The questions of an administrator at night, as clicks and keys that begin on the overview."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx
from busy_night import NightServer
from counted_clicks import Clicks
from on_call_tasks import Steps, enter_moment, open_menu, tab_to, unhealthy
from playwright.async_api import Page, expect
from waiting import PATIENCE, until


@dataclass(frozen=True)
class Question:
    """A question, and the most clicks and keys that its answer may take."""

    asked: str
    clicks: int
    keys: int
    steps: Steps


async def find(page: Page, text: str) -> None:
    """Search for an id or a name with the keyboard alone."""
    await page.keyboard.press("f")
    await expect(page.get_by_role("searchbox", name=re.compile("^Find in the hub"))).to_be_focused()
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")


async def send(server: NightServer, method: str, path: str, **given: object) -> int:
    """Send a request to the API with ada's token. Return the status of the answer."""
    headers = {"Authorization": f"Bearer {server.world.ada}", "User-Agent": "night"}
    headers |= dict(given.pop("headers", {}))  # type: ignore[call-overload]
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        answer = await client.request(method, server.url + path, headers=headers, **given)  # type: ignore[arg-type]
    return answer.status_code


async def did_it_arrive(page: Page, clicks: Clicks, server: NightServer) -> None:
    at = server.night.refused_at + timedelta(minutes=1)
    await open_menu(page, "Events")
    await tab_to(page, page.get_by_label("Repository"))
    await page.keyboard.type("engine")
    await tab_to(page, page.get_by_label(re.compile("^To ")))
    await enter_moment(page, at)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("until="))
    await page.get_by_role("table").get_by_role("link", name=re.compile("completed")).first.click()
    deliveries = page.get_by_role("region", name="Deliveries of this event")
    await expect(deliveries.get_by_role("link", name="/night/").first).to_be_visible()


async def why_does_it_grow(page: Page, clicks: Clicks, server: NightServer) -> None:
    row = unhealthy(page).get_by_role("row", name="night/26")
    await row.get_by_role("link", name=re.compile("pending for hook")).click()
    await expect(page.get_by_text("The circuit breaker is open after failures")).to_be_visible()


async def which_secret_signs(page: Page, clicks: Clicks, server: NightServer) -> None:
    await find(page, "/good")
    await page.get_by_role("link", name="/good").click()
    attempts = page.get_by_role("region", name=re.compile("^Attempts"))
    await attempts.get_by_role("link", name="200").first.click()
    await expect(page.get_by_text("made with the present secret").first).to_be_visible()


async def who_disabled_it(page: Page, clicks: Clicks, server: NightServer) -> None:
    path = f"/repos/ada/engine/hooks/{server.world.good}"
    assert await send(server, "PATCH", path, json={"active": False}) == 200
    await find(page, "/good")
    await page.get_by_role("link", name="/good").click()
    await page.get_by_role("link", name="who changed it").click()
    entry = page.get_by_role("row", name="repos/update-webhook").first
    await expect(entry).to_contain_text("ada")
    await expect(entry).to_contain_text("active")
    assert await send(server, "PATCH", path, json={"active": True}) == 200


async def resend_of_a_host(page: Page, clicks: Clicks, server: NightServer) -> None:
    now = datetime.now(UTC)
    await open_menu(page, "Replay")
    await tab_to(page, page.get_by_label("Hook", exact=True))
    # All hooks have this host, and other questions need them as they are.
    await page.keyboard.type(f"127.0.0.1:{server.receiver.port}/night/24")
    await tab_to(page, page.get_by_label("Status"))
    await page.keyboard.type("only")
    for label, ago in (("^Received since", 2), ("^and before", 1)):
        await tab_to(page, page.get_by_label(re.compile(label)))
        await enter_moment(page, now - timedelta(hours=ago))
    await page.keyboard.press("Enter")
    before = server.receiver.got.total()
    await page.get_by_role("button", name=re.compile(r"^Send [\d\s]+ deliver")).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Replay")
    await expect(page.get_by_role("main")).to_contain_text("done")
    assert server.receiver.got.total() > before


async def what_was_sent_and_answered(page: Page, clicks: Clicks, server: NightServer) -> None:
    row = unhealthy(page).get_by_role("row", name="night/21")
    await row.get_by_role("link", name="401", exact=True).click()
    await expect(page.get_by_role("heading", name="Response")).to_be_in_viewport()
    await expect(page.get_by_role("heading", name="Request")).to_be_visible()
    await expect(page.locator(".json-string", has_text="refs/heads/main")).to_be_visible()


async def is_it_behind(page: Page, clicks: Clicks, server: NightServer) -> None:
    figures = page.locator(".figures")
    for name in ("Pending", "Oldest due", "Workers"):
        await expect(figures.get_by_text(name, exact=True)).to_be_in_viewport()
    await expect(figures).to_contain_text("running")


async def when_is_the_next_try(page: Page, clicks: Clicks, server: NightServer) -> None:
    row = unhealthy(page).get_by_role("row", name="night/25")
    await row.get_by_role("link", name=re.compile("pending for hook")).click()
    table = page.get_by_role("region", name=re.compile("^Pending deliveries"))
    await expect(table.get_by_role("row").nth(1)).to_contain_text("in ")
    before = server.receiver.got.total()
    await page.get_by_role("button", name="Try now").click()
    await expect(page.get_by_text(re.compile("tried now"))).to_be_visible()
    await until(lambda: server.receiver.got.total() > before)


async def whose_token_was_it(page: Page, clicks: Clicks, server: NightServer) -> None:
    await server.post(guid="night-posted-1")
    await find(page, "night-posted-1")
    await expect(page.get_by_text(re.compile(r"posted by ada with the token \d+"))).to_be_visible()


async def was_it_lost(page: Page, clicks: Clicks, server: NightServer) -> None:
    given = {"content": b"{", "headers": {"X-GitHub-Delivery": "night-lost-1"}}
    assert await send(server, "POST", "/ada/engine/events/push", **given) == 400
    await find(page, "night-lost-1")
    await expect(page.get_by_text("It was not stored")).to_be_visible()
    await find(page, "night-never-1")
    await expect(page.get_by_text("it did not come in")).to_be_visible()


QUESTIONS = (
    Question("did the receiver get the event of a time", 2, 60, did_it_arrive),
    Question("why does the queue of a receiver grow", 1, 0, why_does_it_grow),
    Question("which secret signs a hook", 2, 10, which_secret_signs),
    Question("who disabled a hook, and when", 2, 10, who_disabled_it),
    Question("send again everything that failed in an hour for a host", 2, 90, resend_of_a_host),
    Question("what was sent, and what was answered", 1, 0, what_was_sent_and_answered),
    Question("is the daemon behind", 0, 0, is_it_behind),
    Question("when is the next try, and can it be forced", 2, 0, when_is_the_next_try),
    Question("which token posted an event", 0, 20, whose_token_was_it),
    Question("was an event lost that the sender posted", 0, 40, was_it_lost),
)
