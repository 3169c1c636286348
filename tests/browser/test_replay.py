"""Replays in the dashboard: the count, the start, the progress and refusals. A job and the check of
the audit log are started from their pages, too.
"""

import re

import pytest
from chromium import violations
from dashboard_guests import DashboardServer
from playwright.async_api import expect
from waiting import until

from store.delivery.replays import replay_runs
from store.hooks import hooks


@pytest.fixture(scope="module")
def fresh(server: DashboardServer) -> int:
    """The id of a hook that is created after events of ada/engine were received."""
    with server.opened() as store:
        made = store.write_sync(
            hooks.create,
            server.world.engine,
            url=f"http://127.0.0.1:{server.receiver.port}/late",
            events=["push"],
            content_type="json",
        )
    return int(made["id"])


def replays(server: DashboardServer) -> int:
    with server.opened() as store:
        return len(store.read_sync(replay_runs.page, limit=100))


async def test_a_replay_is_counted_before_it_is_delivered(visit, server, fresh):
    guest = await visit("ada")
    page = await guest.go("/ui/replay")
    before, rows = replays(server), len(server.rows())
    await page.get_by_label("Hook", exact=True).fill(str(fresh))
    await expect(page.get_by_label("Status")).to_have_value("failed")
    await page.get_by_label("Received since").fill("")
    await page.get_by_role("button", name="Count").click()
    dry_run = page.get_by_role("region", name="Dry run")
    await expect(dry_run).to_contain_text(re.compile(r"to be created\s*[1-9]"))
    assert (replays(server), len(server.rows())) == (before, rows)
    assert await violations(page) == []
    # The button names the number of deliveries, so the page does not ask again.
    await dry_run.get_by_role("button", name=re.compile(r"^Send [1-9]\d* deliveries$")).click()
    await expect(page).to_have_url(re.compile(r"/ui/replay/\d+$"))
    progress = page.get_by_role("region", name="Progress")
    await expect(progress).to_contain_text("done")
    await expect(progress).to_contain_text("Ended after")
    await expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    await expect(progress).to_contain_text("100")
    assert await violations(page) == []
    await page.get_by_role("link", name="Replay", exact=True).first.click()
    await expect(page.get_by_role("region", name="Replays", exact=True)).to_contain_text(
        f"hook {fresh}"
    )
    done = [row for row in server.rows() if row["hook_id"] == fresh]
    assert len(done) >= 3
    await until(
        lambda: all(r["state"] == "delivered" for r in server.rows() if r["hook_id"] == fresh),
        "the deliveries",
    )


async def test_a_hook_s_replay_selects_the_failures_of_a_day(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/hooks/{server.world.failing}")
    await page.get_by_role("link", name="Retry what failed").click()
    await expect(page.get_by_label("Hook", exact=True)).to_have_value(str(server.world.failing))
    await expect(page.get_by_label("Status")).to_have_value("failed")
    await expect(page.get_by_label("Received since")).to_have_value(re.compile("^20"))
    await expect(page.get_by_role("region", name="Dry run")).to_contain_text("to be created")


async def test_without_scripts(visit, server, fresh):
    guest = await visit("ada", scripts=False)
    page = await guest.go(f"/ui/replay?hook={fresh}&count=1")
    await page.get_by_role("button", name=re.compile("^Send ")).click()
    await expect(page.get_by_role("status").first).to_contain_text("this page may be closed")
    # Other tests count replays and deliveries, so this replay must end first.
    with server.opened() as store:
        await until(lambda: not store.read_sync(replay_runs.RUNS.current), "the replay")


async def test_a_refused_replay_is_explained_at_the_form(visit):
    guest = await visit("bob")
    page = await guest.go("/ui/replay")
    await page.get_by_label("Repository").fill("ada/engine")
    await page.get_by_role("button", name="Count").click()
    await expect(page.get_by_role("alert")).to_contain_text("you may not administer it")


async def test_a_job_is_run_from_its_page(visit):
    guest = await visit("root")
    page = await guest.go("/ui/jobs")
    await page.get_by_role("button", name="Run now: prune").click()
    await expect(page.get_by_role("status").first).to_contain_text("prune runs")
    row = page.get_by_role("row", name="prune")
    await expect(row).to_contain_text("done")


async def test_the_audit_log_is_checked_while_one_looks(visit):
    guest = await visit("root")
    page = await guest.go("/ui/audit")
    await page.get_by_role("link", name="Check the chain").click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text(
        "No entry has been altered"
    )


async def test_a_chosen_period_stays_while_the_list_is_renewed(visit):
    guest = await visit("ada")
    page = await guest.go("/ui/replay")
    period = page.get_by_label("Requested in")
    await period.select_option("last 7 days")
    old = await page.locator("#list").element_handle()
    await page.wait_for_function("one => !one.isConnected", arg=old)
    assert await period.input_value() == "7d"
    await page.get_by_role("search", name="Replays").get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("requested=7d"))
    await expect(period).to_have_value("7d")
