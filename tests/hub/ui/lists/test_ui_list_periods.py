"""The period and the order of lists in the database and of lists in memory."""

import re
from collections.abc import Callable

import pytest
from dashboard_client import Browser, next_page, open_dashboard, text_of
from ui_world import World
from usage_world import using

from hub.ui.lists import newest
from store import Connection
from store.assistant import reports
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry
from store.clock import MovableClock
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.mail import outbox

ON = {"mail_host": "127.0.0.1", "mail_from": "tocsin@hooks.example"}
YESTERDAY = "2026-11-20T08:00"


def names(page: str) -> list[str]:
    """Return the text of the first cell of each row in a list."""
    cells = re.findall(r'<th scope="row"[^>]*>(.*?)</th>', page, re.DOTALL)
    return [text_of(cell).strip() for cell in cells]


async def test_problems_of_a_night_in_the_order_of_a_column(
    world: World, clock: MovableClock
) -> None:
    world.send(world.failing, "a", "b", status_code=401)
    clock.advance(seconds=3600)
    world.send(world.good, "c", status_code=503)
    clock.advance(seconds=7200)
    one, other = "401 from receiver.example", "503 from receiver.example"
    async with open_dashboard(world.store, world.seed.token, ui_idle=10**6) as browser:

        async def found(query: str) -> list[str]:
            return names(await browser.page(f"/ui/problems?{query}"))

        assert await found("sort=-deliveries") == [one, other]
        assert await found("sort=deliveries") == [other, one]
        assert await found("sort=-since") == [other, one]
        assert await found("sort=problem") == [one, other]
        assert await found("range=1h") == []
        assert await found("range=6h&sort=-latest") == [other, one]
        assert await found("name=503") == [other]
        assert await found("name=EXAMPLE&state=open") == [one, other]
        assert await found("state=muted") == []
        page = text_of(await browser.page("/ui/problems?range=1h"))
        assert "No matching problems" in page
        assert "2 problems" in text_of(await browser.page("/ui/problems"))
        page = text_of(await browser.page("/ui/problems?since=soon"))
        assert "'soon' is not a time" in page
        assert "The list is not limited by it." in page
        assert await found("range=1h&since=2020-01-01T00:00") == [one, other]
        page = text_of(await browser.page("/ui/problems?range=1h&since=2020-01-01T00:00"))
        assert "Only the times limit the list." in page


@pytest.mark.parametrize("path", ["deliveries", "replay"])
async def test_the_fields_of_a_period_show_each_time_that_limits_a_list(
    world: World, path: str
) -> None:
    """A browser leaves a time out that such a field cannot show, and so does the next request."""
    async with open_dashboard(world.store, world.seed.token) as browser:
        for given, field in (
            ("2026-11-21T07:33", "2026-11-21T07:33"),
            ("2026-11-21T07:33:20Z", "2026-11-21T07:33:20"),
            ("2026-11-21T00:33%2B02:00", "2026-11-20T22:33"),
            ("2026-11-21", "2026-11-21T00:00"),
            ("0001-01-01T00:00%2B02:00", "0001-01-01T00:00+02:00"),
        ):
            page = await browser.page(f"/ui/{path}?count=1&since={given}")
            assert f'name="since" type="datetime-local" value="{field}"' in page
            # A browser accepts other seconds only with a step.
            assert (f'value="{field}" step="1"' in page) is (len(field) > 16)


async def test_the_catalog_can_be_sorted_by_a_column(world: World) -> None:
    world.send(world.good, "a", "b", name="push")
    world.send(world.good, "c", name="star")
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert names(await browser.page("/ui/catalogue"))[:2] == ["push", "star"]
        by_name = names(await browser.page("/ui/catalogue?sort=event"))
        assert by_name == sorted(by_name)
        assert names(await browser.page("/ui/catalogue?sort=-latest"))[0] in ("push", "star")
        assert names(await browser.page("/ui/catalogue?sort=came"))[-1] == "push"


def replays(world: World, db: Connection) -> str:
    """Begin three replays. Return a token that may see them."""
    for number in range(3):
        selection = ReplaySelection(repo_id=world.seed.hello["id"])
        replay_runs.create(db, selection, f"user-{number}")
    return world.operator


def mails(world: World, db: Connection) -> str:
    for name in ("b", "c", "a"):
        outbox.add(db, outbox.TEST, f"{name}@tower.example")
    return world.operator


def entries(world: World, db: Connection) -> str:
    for name in ("b", "c", "a"):
        audit_log.add(db, AuditEntry(Actor(name, "token"), f"{name}/do", "/x", "204"))
    return world.operator


def made_reports(world: World, db: Connection) -> str:
    enterprise_id = using(db).enterprise["id"]
    for day in (20_700, 20_702, 20_701):
        reports.begin(db, ["users-1-day"], enterprise_id, day, day, 1)
    return world.operator


Make = Callable[[World, Connection], str]


@pytest.mark.parametrize(
    ("path", "make", "period", "shown"),
    [
        ("/ui/replay", replays, "requested", "user-"),
        ("/ui/mail", mails, "", "@tower.example"),
        ("/ui/audit", entries, "", "/do"),
        ("/ui/reports", made_reports, "", "users-1-day"),
    ],
)
async def test_a_list_shows_the_entries_of_a_period(
    world: World, clock: MovableClock, path: str, make: Make, period: str, shown: str
) -> None:
    token = world.store.write_sync(lambda db: make(world, db))
    name = {"range": period or "range"} | {
        one: f"{period}_{one}" if period else one for one in ("since", "until")
    }
    clock.advance(seconds=7200)
    async with open_dashboard(world.store, token, ui_idle=10**6, **ON) as browser:
        for query, there in {
            f"{name['range']}=1h": False,
            f"{name['range']}=6h": True,
            f"{name['until']}={YESTERDAY}": False,
            f"{name['since']}={YESTERDAY}": True,
        }.items():
            page = text_of(await browser.page(f"{path}?{query}"))
            assert (shown in page) is there, query
        assert "'soon' is not a time" in text_of(await browser.page(f"{path}?{name['since']}=soon"))


async def firsts(browser: Browser, path: str) -> tuple[list[str], str]:
    page = await browser.page(path)
    return re.findall(r"([abc])@tower", page), page


async def test_pages_of_a_list_in_another_order_do_not_move(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub.ui.mail.pages.LIST.size", 2)
    world.store.write_sync(lambda db: mails(world, db))
    async with open_dashboard(world.store, world.operator, **ON) as browser:
        assert (await firsts(browser, "/ui/mail"))[0] == ["a", "c"]
        found, page = await firsts(browser, "/ui/mail?sort=to")
        assert found == ["a", "b"]
        world.store.write_sync(outbox.add, outbox.TEST, "aa@tower.example")
        found, page = await firsts(browser, next_page(page))
        assert found == ["c"]
        assert 'rel="next"' not in page
        assert (await firsts(browser, "/ui/mail?sort=-to"))[0] == ["c", "b"]
        monkeypatch.setattr(newest, "MOST", 2)
        found, page = await firsts(browser, "/ui/mail?sort=-to")
        assert found == ["a", "a"]
        assert "Sorted are the newest 2 matching mails" in text_of(page)
