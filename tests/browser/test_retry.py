"""Selected deliveries are retried, and an event is sent to one hook."""

import re

import pytest
from chromium import violations
from playwright.async_api import expect
from waiting import until
from world import CLOSED

from store.hooks import hooks


def add_hook(server, url, event, **options):
    """Create a hook of ada/engine that only these tests use. Return its id."""
    with server.opened() as store:
        made = store.write_sync(
            hooks.create,
            server.world.engine,
            url=url,
            events=[event],
            content_type="json",
            options=options,
        )
    return made["id"]


@pytest.fixture(scope="module")
def mine(server):
    """The path of the page of a hook whose receiver answers."""
    url = f"http://127.0.0.1:{server.receiver.port}/retry"
    return f"/ui/hooks/{add_hook(server, url, 'label')}"


@pytest.fixture
async def failed_twice(server):
    """The id of a hook with two deliveries that failed. Hooks of other tests do not suit, because
    these tests delete them, and a delivery of a deleted hook is not retried.
    """
    hook_id = add_hook(server, CLOSED, "milestone", retries=[0])
    guids = {await server.post("milestone") for _ in range(2)}

    def over():
        rows = [row for row in server.rows() if row["guid"] in guids and row["hook_id"] == hook_id]
        return len(rows) == 2 and all(row["state"] == "dead" for row in rows)

    await until(over, "two failed deliveries")
    return hook_id


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


async def test_a_wrong_payload_is_reported_beside_its_field(visit, mine):
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


async def test_without_scripts_a_retry_is_asked_for_first(visit, failed_twice):
    guest = await visit("ada", scripts=False)
    page = await guest.go(f"/ui/deliveries?status=failure&hook={failed_twice}")
    await page.get_by_role("checkbox").nth(0).check()
    await page.get_by_role("checkbox").nth(1).check()
    await page.get_by_role("button", name="Retry the selected").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Retry 2 deliveries?")
    await page.get_by_role("link", name="Back to the deliveries").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Deliveries")
