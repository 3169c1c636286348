"""Selected deliveries are retried, and an event is sent to one hook."""

import re

import pytest
from chromium import violations
from playwright.async_api import expect

from store.hooks import hooks


@pytest.fixture(scope="module")
def mine(server):
    """A hook of ada/engine for these tests alone."""
    with server.opened() as store:
        made = store.do(
            hooks.create,
            server.world.engine,
            url=f"http://127.0.0.1:{server.receiver.port}/retry",
            events=["label"],
            content_type="json",
        )
    return f"/ui/hooks/{made['id']}"


async def test_an_example_is_sent_and_retried(visit, mine):
    guest = await visit("ada")
    page = await guest.go(mine)
    await page.get_by_role("link", name="Send an event").click()
    await expect(page.get_by_label("Payload of the event label")).to_contain_text("ada/engine")
    assert await violations(page) == []
    await page.get_by_role("button", name="Send the label event").click()
    attempts = page.get_by_role("region", name="Latest attempts")
    await expect(attempts.get_by_role("row", name=re.compile("200.*label"))).to_have_count(1)
    retry = page.get_by_role("button", name="Retry the selected")
    await expect(retry).to_be_disabled()
    await page.get_by_label("Select all").check()
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await retry.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Retry 1 delivery?")
    assert await violations(page) == []
    await page.get_by_role("button", name="Retry 1 delivery").click()
    await expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    await expect(page.get_by_role("cell", name="delivered")).to_be_visible()
    assert await violations(page) == []


async def test_a_wrong_payload_is_said_beside_it(visit, mine):
    guest = await visit("ada", scripts=False)
    page = await guest.go(f"{mine}/send")
    await page.get_by_label("Payload of the event label").fill("{")
    await page.get_by_role("button", name="Send the label event").click()
    field = page.get_by_label("Payload of the event label")
    await expect(field).to_have_value("{")
    await expect(field).to_have_accessible_description(re.compile("JSON"))
    await field.fill('{"name": "mine"}')
    await page.get_by_role("button", name="Send the label event").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been queued")


async def test_without_scripts_a_retry_is_asked_for_first(visit, server):
    guest = await visit("ada", scripts=False)
    page = await guest.go("/ui/deliveries?status=failure")
    await page.get_by_role("checkbox").nth(0).check()
    await page.get_by_role("checkbox").nth(1).check()
    await page.get_by_role("button", name="Retry the selected").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Retry 2 deliveries?")
    await page.get_by_role("link", name="Back to the deliveries").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Deliveries")
