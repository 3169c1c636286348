"""Apps in the dashboard: their installations, permissions and keys."""

import re

from chromium import violations
from playwright.async_api import expect


async def test_an_installation_is_suspended_and_resumed(visit):
    guest = await visit("root")
    page = await guest.go("/ui/apps")
    await page.get_by_role("link", name="Mill").click()
    row = page.get_by_role("region", name="Installations").get_by_role(
        "row", name=re.compile("ada")
    )
    await expect(row).to_contain_text("engine")
    await expect(row).to_contain_text("contents: read")
    hook = page.get_by_role("region", name="Hook").get_by_role("link").first
    await expect(hook).to_contain_text("127.0.0.1")
    await row.get_by_role("button", name="Suspend").click()
    await expect(page.get_by_text("The installation on ada is suspended")).to_be_visible()
    await expect(row).to_contain_text("suspended")
    assert await violations(page) == []
    await row.get_by_role("button", name="Resume").click()
    await expect(row).to_contain_text("active")
    page = await guest.go("/ui/events?event=installation")
    await expect(page.get_by_text("installation.unsuspend")).to_be_visible()


async def test_the_public_half_of_a_key_is_shown(visit):
    guest = await visit("root")
    page = await guest.go("/ui/apps")
    await page.get_by_role("link", name="Mill").click()
    keys = page.get_by_role("region", name="Keys")
    await keys.get_by_text("Show").click()
    await expect(keys.get_by_text("BEGIN PUBLIC KEY")).to_be_visible()
