"""The pages of `/docs` and `/reference`: wide and narrow, light and dark, with and without scripts.
The search answers the questions that people have.
"""

import re
from typing import Any

import pytest
from chromium import violations
from dashboard_guests import Guest, Visiting
from playwright.async_api import expect

from hub.manual.library import manual

SHOWN = (
    "/docs",
    "/docs/tutorial",
    "/docs/concepts",
    "/docs/how-to/troubleshoot",
    "/docs/how-to/receive-and-verify",
    "/docs/reference/settings",
    "/docs/reference/state-document",
    "/docs/reference/websub",
    "/reference",
    "/reference/repos",
    "/reference/schemas/Hook",
)
LOOKS = {
    "wide-light": {"width": 1440},
    "wide-dark": {"width": 1440, "dark": True},
    "narrow-light": {"width": 390},
    "narrow-dark": {"width": 390, "dark": True},
}
QUESTIONS = {
    "my receiver answers 401": ("/docs/how-to/troubleshoot", "my-receiver-answers-401"),
    "replay what was missed last night": ("/docs/how-to/replay-after-an-outage", "replay-events"),
    "how do I go to PostgreSQL": ("/docs/how-to/postgresql", "move-an-installation-from-sqlite"),
    "rotate the secret of a hook": ("/docs/how-to/rotate-secrets", ""),
    "verify signature": ("/docs/how-to/receive-and-verify", ""),
    "webhook secret rotation": ("/docs/how-to/rotate-secrets", ""),
    "invalid signature": ("/docs/how-to/troubleshoot", "my-receiver-answers-401"),
    "nothing arrives": ("/docs/how-to/troubleshoot", "nothing-arrives"),
    "a delivery is dead": ("/docs/how-to/troubleshoot", "a-delivery-is-dead"),
    "behind nginx": ("/docs/how-to/tls-and-proxies", "behind-a-proxy"),
    "timeout": ("/docs/reference/settings", "timeout"),
    "why did my hook get disabled": ("/docs/how-to/troubleshoot", "a-hook-is-disabled"),
    "disk full": ("/docs/how-to/troubleshoot", "the-disk-is-full"),
    "localhost": ("/docs/how-to/troubleshoot", "a-callback-is-refused"),
    "test locally": ("/docs/how-to/receive-and-verify", "test-it-locally"),
    "ip address allowlist": (
        "/docs/how-to/receive-and-verify",
        "from-which-ip-addresses-they-come",
    ),
    "which IPs call me": (
        "/docs/how-to/receive-and-verify",
        "from-which-ip-addresses-they-come",
    ),
    "pull hook": ("/docs/how-to/receive-behind-a-firewall", "pull-hooks"),
    "status codes": ("/docs/how-to/receive-and-verify", "status-codes-of-your-answers"),
    "how long are payloads kept": ("/docs/explanation/guarantees", "retention"),
    "X-GitHub-Hook-Installation-Target-ID": ("/docs/reference/headers", "headers-of-deliveries"),
    "lost token": ("/docs/how-to/rotate-secrets", "a-token"),
    "move to another machine": ("/docs/how-to/backup-and-restore", "move-to-another-machine"),
    "high availability": ("/docs/how-to/postgresql", "run-on-several-machines"),
    "max_event_bytes": ("/docs/reference/settings", "max_event_bytes"),
}


@pytest.fixture
async def guest(visit, request: pytest.FixtureRequest) -> Guest:
    """A guest who is not signed in, with the look that the test names."""
    return await arrive(visit, getattr(request, "param", LOOKS["wide-light"]))


async def arrive(coming: Visiting, look: dict[str, Any]) -> Guest:
    """Return a guest who is not signed in, with this look. `coming` is `visit` or `read`."""
    arrived: Guest = await coming(None, dark=look.get("dark", False))
    await arrived.page.set_viewport_size({"width": look["width"], "height": 900})
    return arrived


async def is_within(guest: Guest) -> bool:
    """Whether the page is no wider than the window."""
    return bool(await guest.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


BOTH = ("wide-light", "narrow-dark")
VISITS = [
    pytest.param(LOOKS[look], path, id=f"{path}-{look}")
    for path in SHOWN
    # Most pages need only two looks, because colours and widths do not depend on each other.
    for look in (LOOKS if path in ("/docs/concepts", "/reference") else BOTH)
]


@pytest.mark.parametrize(("look", "path"), VISITS)
async def test_each_page_is_accessible_and_fits_the_window(
    read: Visiting, look: dict[str, Any], path: str
) -> None:
    guest = await arrive(read, look)
    page = await guest.go(path)
    assert await page.get_by_role("heading", level=1).count() == 1
    assert await violations(page) == []
    assert await is_within(guest), "the page scrolls sideways"


@pytest.mark.parametrize("guest", [LOOKS["narrow-light"]], ids=["narrow"], indirect=True)
async def test_no_page_scrolls_sideways(guest: Guest) -> None:
    for name in manual().pages:
        await guest.go(f"/docs/{name}")
        assert await is_within(guest), name


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_is_answered_in_one_step(guest: Guest, question: str) -> None:
    page = await guest.go("/docs/concepts")
    path, anchor = QUESTIONS[question]
    await page.get_by_role("combobox").fill(question)
    first = page.get_by_role("option").first
    await expect(first).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile(f"{path}(#.*{anchor}.*)?$" if anchor else f"{path}(#.*)?$"))
    assert anchor in page.url
    _, _, fragment = page.url.partition("#")
    if fragment:
        await expect(page.locator(f"[id='{fragment}']")).to_be_in_viewport()


async def test_the_search_finds_beginnings_and_says_when_there_is_nothing(guest: Guest) -> None:
    page = await guest.go("/docs")
    search = page.get_by_role("combobox")
    await search.fill("postg")
    await expect(page.get_by_role("option").first).to_contain_text("PostgreSQL")
    await search.fill("zzzzqqqq")
    await expect(page.locator("#results")).to_contain_text("Nothing is found")
    await search.press("Escape")
    await expect(page.locator("#results")).to_be_hidden()


async def test_arrows_choose_a_result(guest: Guest) -> None:
    page = await guest.go("/docs")
    await page.keyboard.press("/")
    await page.keyboard.type("secret")
    options = page.get_by_role("option")
    await expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    wanted = await options.nth(1).get_by_role("link", include_hidden=True).get_attribute("href")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/{wanted}")


async def test_code_can_be_copied(guest: Guest) -> None:
    await guest.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await guest.go("/docs/tutorial")
    block = page.locator(".code").first
    await block.hover()
    await block.get_by_role("button").click()
    await expect(block.get_by_role("button")).to_have_text("Copied")
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await block.locator("pre").text_content()


async def test_without_scripts_there_are_contents_and_no_dead_buttons(visit) -> None:
    guest = await visit(None, scripts=False)
    page = await guest.go("/docs/tutorial")
    assert await page.get_by_role("button").count() == 0
    await expect(page.get_by_role("combobox")).to_be_hidden()
    await (
        page.get_by_role("navigation", name="Contents").get_by_role("link", name="Concepts").click()
    )
    await expect(page.get_by_role("heading", level=1)).to_have_text("Concepts")


async def test_every_link_of_a_page_leads_somewhere(guest: Guest, client) -> None:
    page = await guest.go("/docs/")
    links = await page.eval_on_selector_all("a", "all => all.map((one) => one.href)")
    ours = {one.partition("#")[0] for one in links if one.startswith(guest.server.url)}
    assert len(ours) > 40
    for link in sorted(ours):
        assert (await client.get(link)).status_code in (200, 303), link


async def test_on_paper_there_is_the_text_alone(guest: Guest) -> None:
    page = await guest.go("/docs/concepts")
    await page.emulate_media(media="print")
    await expect(page.get_by_role("article")).to_be_visible()
    for hidden in (page.get_by_role("navigation").first, page.locator(".search")):
        await expect(hidden).to_be_hidden()


async def test_the_reference_is_filtered_and_folded(guest: Guest) -> None:
    page = await guest.go("/reference")
    await page.get_by_role("searchbox").fill("post repos hooks pings")
    rows = page.locator("[data-row]:visible")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("/repos/{owner}/{repo}/hooks/{hook_id}/pings")
    await page.get_by_role("searchbox").fill("")
    await page.get_by_role("button", name="Fold all", exact=True).click()
    await expect(rows).to_have_count(0)
    await page.get_by_role("button", name="Unfold all").click()
    assert await rows.count() > 150


async def test_an_operation_has_an_example(guest: Guest) -> None:
    page = await guest.go("/reference/repos#post-repos-owner-repo-hooks")
    panel = page.locator("section", has=page.locator("#post-repos-owner-repo-hooks"))
    await panel.get_by_text("Example", exact=True).click()
    await expect(panel).to_contain_text("curl -X POST")
    await expect(panel.get_by_role("heading", name="Response 201")).to_be_visible()
    assert await is_within(guest)


async def test_underscores_of_links_can_be_seen(guest: Guest) -> None:
    """The line under a link is below the underscores in it."""
    page = await guest.go("/reference")
    link = page.locator("a:has(> code)", has_text="hook_id").first
    offset = await link.evaluate("one => getComputedStyle(one).textUnderlineOffset")
    size = await link.evaluate("one => getComputedStyle(one).fontSize")
    assert float(offset.removesuffix("px")) > 0.35 * float(size.removesuffix("px"))


@pytest.mark.parametrize("guest", [LOOKS["narrow-light"]], ids=["narrow"], indirect=True)
async def test_text_in_cells_flows_on_a_phone(guest: Guest) -> None:
    """Code within a sentence stays in its line, beside the name of the column."""
    page = await guest.go("/docs/reference/headers")
    cell = page.locator("td", has_text="Bearer TOKEN").first
    assert await cell.evaluate("cell => getComputedStyle(cell).display") == "flow-root"
    page = await guest.go("/docs/explanation/compared")
    cell = page.locator("td[data-label=Svix]").first
    assert await cell.evaluate("cell => parseFloat(getComputedStyle(cell).paddingLeft)") > 100
    assert '"Svix"' in await cell.evaluate("cell => getComputedStyle(cell, '::before').content")
    page = await guest.go("/docs/reference/state-document")
    assert await page.locator("td:empty").count() > 0
    assert await page.locator("td:empty:visible").count() == 0


@pytest.mark.parametrize("guest", [LOOKS["narrow-light"]], ids=["narrow"], indirect=True)
async def test_names_of_options_stay_whole_on_a_phone(guest: Guest) -> None:
    page = await guest.go("/docs/reference/commands")
    for name in ("--help", "--data-dir"):
        code = page.locator("p > code", has_text=re.compile(f"^{name}$")).first
        assert await code.evaluate("code => code.getClientRects().length") == 1
        lines = (
            "code => Math.round(code.offsetHeight / parseFloat(getComputedStyle(code).lineHeight))"
        )
        assert await code.evaluate(lines) == 1


@pytest.mark.parametrize("guest", [LOOKS["narrow-light"]], ids=["narrow"], indirect=True)
async def test_paths_break_before_a_slash_on_a_phone(guest: Guest) -> None:
    page = await guest.go("/reference")
    link = page.locator("a > code", has_text="/actions/concurrency_groups").first
    assert "/actions/concurrency_groups" in await link.inner_text()
    assert await link.locator("wbr").count() > 3


async def test_the_contents_show_the_entry_of_the_page(guest: Guest) -> None:
    page = await guest.go("/docs/explanation/performance")
    contents = page.get_by_role("navigation", name="Contents")
    await expect(contents.locator("[aria-current]")).to_be_in_viewport()


def test_the_pages_that_are_looked_at_are_there() -> None:
    assert {one.removeprefix("/docs/") for one in SHOWN if one[:6] == "/docs/"} <= {*manual().pages}
