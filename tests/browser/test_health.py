"""The overview for a person on call: an alarm, unhealthy hooks with reason and next attempt, and
missing rights.
"""

import re
from typing import Any

import pytest
from chromium import violations
from dashboard_guests import COOKIE, DashboardServer
from playwright.async_api import expect
from waiting import until
from world import CLOSED

from store import Connection
from store.accounts import accounts, sessions, tokens
from store.clock import HOUR, MINUTE
from store.hooks import hooks


@pytest.fixture
async def resting(server: DashboardServer) -> Any:
    """The id of a hook of ada/engine without a receiver, whose circuit is open for an hour."""

    def make(db: Connection) -> int:
        made = hooks.create(
            db, server.world.engine, url=CLOSED + "/resting", events=["watch"],
            content_type="json", options={"retries": [0, 60]},
        )  # fmt: skip
        return int(made["id"])

    def rest(db: Connection) -> None:
        db.execute(
            "UPDATE hook SET resting_until = :at WHERE id = :id", at=db.now + HOUR, id=hook_id
        )

    with server.opened() as store:
        hook_id = store.write_sync(make)
    guid = await server.post("watch", guid="to-the-resting-one")
    await until(lambda: _attempts(server, guid), "the first attempt")
    with server.opened() as store:
        store.write_sync(rest)
    yield hook_id
    with server.opened() as store:
        store.write_sync(lambda db: hooks.update(db, hooks.by_id(db, hook_id), active=False))


def _attempts(server: DashboardServer, guid: str) -> bool:
    return any(row["attempts"] for row in server.rows() if row["guid"] == guid)


async def test_an_open_circuit_has_one_word_one_reason_and_one_time(visit, server, resting):
    guest = await visit("ada")
    page = await guest.go("/ui")
    panel = page.get_by_role("region", name="Unhealthy endpoints, a table")
    row = panel.get_by_role("row", name=re.compile("resting"))
    await expect(row).to_contain_text("Circuit open")
    await expect(row).to_contain_text("Connection refused")
    # Failing hooks come after hooks with an open circuit.
    names = await panel.get_by_role("row").all_inner_texts()
    words = [word for text in names for word in re.findall("Circuit open|Failing", text)]
    assert words == sorted(words)
    count = page.locator("#failing-hooks .tag")
    assert int(await count.inner_text()) == len(names) - 1
    await row.get_by_role("link").first.click()
    await expect(page.locator(".head .status")).to_have_text("Circuit open")
    figure = page.locator(".figure", has_text="Next attempt")
    await expect(figure.locator("time[data-ago=until]")).to_have_text(re.compile("in (1 h|59 min)"))
    # The retry of the attempt would be due in a minute, but it waits for the circuit, too.
    attempts = page.get_by_role("region", name="Attempts, newest first")
    await expect(attempts.locator("time[data-ago=until]")).to_have_text(
        re.compile("in (1 h|59 min)")
    )
    await expect(page.get_by_text(re.compile("due since|retry due"))).to_have_count(0)
    assert await violations(page) == []


async def test_a_long_failing_hook_raises_an_alarm(visit, server):
    def fail(db: Connection, ago: int) -> None:
        db.execute(
            "UPDATE hook SET failing_since = :at WHERE id = :id",
            at=db.now - ago,
            id=server.world.retrying,
        )

    guest = await visit("ada")
    with server.opened() as store:
        store.write_sync(fail, 20 * MINUTE)
    try:
        page = await guest.go("/ui")
        await expect(page.get_by_text("for too long")).to_be_visible()
        await expect(page.get_by_text("the first began to fail 20 min ago")).to_be_visible()
        share = page.locator(".figure", has_text="Success rate")
        await expect(share).to_contain_text(re.compile("[1-9][0-9]* wait"))
        assert await violations(page) == []
    finally:
        with server.opened() as store:
            store.write_sync(fail, 0)


async def test_users_without_a_repository_read_the_reason_and_the_remedy(visit, server):
    def begin(db: Connection) -> str:
        account = accounts.by_login(db, "eve") or accounts.create(db, "eve")
        _, token = tokens.create(db, account["id"], scopes=["repo", "admin:repo_hook"])
        return sessions.begin(db, token_id=token["id"])

    with server.opened() as store:
        value = store.write_sync(begin)
    guest = await visit(None)
    cookie = {"name": COOKIE, "value": value, "domain": "127.0.0.1", "path": "/ui"}
    await guest.context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])
    for path in ("/ui", "/ui/hooks", "/ui/deliveries", "/ui/events"):
        page = await guest.go(path)
        await expect(page.get_by_text("You administer no repository")).to_be_visible()
        await expect(page.get_by_text("tocsin repo grant OWNER/NAME eve admin")).to_be_visible()
        await expect(page.get_by_text(re.compile("^None$|yet"))).to_have_count(0)
        assert await violations(page) == []
