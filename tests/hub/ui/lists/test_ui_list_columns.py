"""The column heads, the absolute times and the filters of each list that has entries."""

import re
from html import unescape
from typing import Any

import pytest
from dashboard_client import Browser, open_dashboard, text_of
from ui_world import World
from usage_world import using
from websub_followers import follow

from hub.ui.lists.views import LISTS
from store import Connection, Row, Store
from store.accounts import apps
from store.assistant import reports
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry
from store.clock import DAY, MovableClock
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.delivery.websub.websub_topics import Topic
from store.imports import imports
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.mail import outbox
from store.repositories import interaction_limits

SETTINGS: dict[str, Any] = {
    "mail_host": "127.0.0.1",
    "mail_from": "tocsin@hooks.example",
    "imports": True,
    "ui_idle": 10**6,
}
SORTED = (
    *("deliveries", "events", "hooks", "problems", "topics", "topics/followers", "imports"),
    *("jobs", "audit", "reports", "replay", "mail", "apps", "catalogue"),
)
SHOWN = (*SORTED, "limits", "sessions")
ENDING = (
    *("deliveries", "events", "hooks", "topics", "topics/followers", "imports"),
    *("audit", "reports", "replay", "mail", "apps"),
)
RENEWED = ("replay", "reports", "imports", "jobs")
HEAD = re.compile(
    r'<th scope="col"(?: class="number")?(?: aria-sort="(\w+)")?>'
    r'<a class="sort" href="([^"]+)">([^<]+)'
)
AGO = re.compile(r'<time datetime="([^"]+)"[^>]* data-ago>')
STAMP = re.compile(r'<time datetime="([^"]+)" data-stamp')


@pytest.fixture
def world(store: Store, seed: Any) -> World:
    made = World(store, seed)
    made.send(made.failing, "a", "b", status_code=401)
    made.send(made.good, "c", name="star")
    store.write_sync(furnish, made)
    return made


def furnish(db: Connection, world: World) -> None:
    """Create two entries for each list that is still empty."""
    repo = world.seed.hello
    interaction_limits.limit_repository(db, repo, "existing_users", db.now + DAY)
    enterprise_id = using(db).enterprise["id"]
    for number, name in enumerate(("b", "a")):
        follow(db, pushes(repo), f"https://{name}.example/")
        imports.start(
            db, (repo, world.seed.vault)[number]["id"], world.seed.octo["id"],
            "https://git.example/it.git", vcs="git",
        )  # fmt: skip
        audit_log.add(db, AuditEntry(Actor(name, "token"), f"{name}/do", "/x", "204"))
        reports.begin(db, ["users-1-day"], enterprise_id, 20_700 + number, 20_700 + number, 1)
        replay_runs.create(db, ReplaySelection(repo_id=repo["id"]), name)
        outbox.add(db, outbox.TEST, f"{name}@tower.example")
        apps.create(db, world.seed.octo["id"], f"app {name}", url=f"https://{name}.example/")
    jobs.save_schedules(db, [JobSchedule(f"job-{name}", "@daily", db.now + DAY) for name in "ab"])


def pushes(repo: Row) -> Topic:
    return Topic(repo["id"], "push", "https://forge.example/octo/hello/events/push")


def heads(page: str) -> dict[str, tuple[str, str]]:
    """Return, for each sortable column, its current direction and the link in its head."""
    return {name: (direction, unescape(url)) for direction, url, name in HEAD.findall(page)}


def many(page: str) -> int:
    return sum(row.count('<th scope="row"') for row in page.split("<tbody>")[1:])


async def test_each_head_of_a_column_sorts_both_ways(world: World) -> None:
    async with open_dashboard(world.store, world.operator, **SETTINGS) as browser:
        for name in SORTED:
            page = await browser.page(f"/ui/{name}")
            found = heads(page)
            assert len(found) >= 3, name
            for column, (_, url) in found.items():
                assert await turned(browser, column, url) == many(page), (name, column)


async def test_each_list_saves_its_filters_as_a_view(world: World) -> None:
    async with open_dashboard(world.store, world.operator, **SETTINGS) as browser:
        for page in sorted(LISTS):
            name = f"view of {page}"
            form = {"page": page, "query": "sort=-x", "name": name}
            assert (await browser.post("/ui/views", form, on=page)).status_code == 303
            assert name in text_of(await browser.page(page)), page


async def test_each_list_shows_how_many_match(world: World) -> None:
    nouns = {
        "deliveries": "delivery attempts", "topics/followers": "subscriptions",
        "audit": "entries", "replay": "replays", "mail": "mails", "topics": "repositories",
        "problems": "problem",
    }  # fmt: skip
    async with open_dashboard(world.store, world.operator, **SETTINGS) as browser:
        for name in SORTED:
            if name != "catalogue":
                page = text_of(await browser.page(f"/ui/{name}"))
                noun = nouns.get(name, name)
                assert re.search(rf"\d+\s+{noun}\b", page), name


async def test_a_page_behind_the_end_leads_to_the_first(world: World) -> None:
    async with open_dashboard(world.store, world.operator, **SETTINGS) as browser:
        for name in ENDING:
            for query in ("before=1&skip=9000", "sort=-created&before=1&skip=9000"):
                page = await browser.page(f"/ui/{name}?{query}")
                assert "This page has no entries" in text_of(page), name
                assert re.search(rf'href="/ui/{name}(\?sort=[^"]+)?">Show the first page', page), (
                    name
                )


async def turned(browser: Browser, column: str, url: str) -> int:
    """Sort by a column in both directions. Return the number of entries."""
    once = await browser.page(url)
    twice = await browser.page(heads(once)[column][1])
    directions = {heads(page)[column][0] for page in (once, twice)}
    assert directions == {"ascending", "descending"}, url
    assert many(once) == many(twice)
    return many(once)


async def test_each_age_in_a_list_stands_beside_its_time(world: World, clock: MovableClock) -> None:
    clock.advance(seconds=60)
    async with open_dashboard(world.store, world.operator, **SETTINGS) as browser:
        for name in SHOWN:
            page = await browser.page(f"/ui/{name}")
            cells = re.findall(r"<td\b.*?</td>", page, re.DOTALL)
            found = [(ages, STAMP.findall(cell)) for cell in cells if (ages := AGO.findall(cell))]
            assert found, name
            assert all(ages == stamps for ages, stamps in found), name


async def test_a_list_that_is_renewed_has_its_filters_outside(world: World) -> None:
    """If a user has begun to choose a filter, the update of the list does not reset it."""
    async with open_dashboard(world.store, world.operator, **SETTINGS) as browser:
        for name in RENEWED:
            before, renewed = (await browser.page(f"/ui/{name}")).split('hx-trigger="every')
            assert 'role="search"' in before, name
            assert 'role="search"' not in renewed, name


async def test_subscriptions_of_a_period_in_the_order_of_a_column(
    world: World, clock: MovableClock
) -> None:
    clock.advance(seconds=7200)
    world.store.write_sync(follow, pushes(world.seed.hello), "https://c.example/")
    async with open_dashboard(world.store, world.seed.token, last=False, **SETTINGS) as browser:

        async def found(query: str) -> list[str]:
            page = await browser.page(f"/ui/topics/followers?{query}")
            return re.findall(r"https://(\w)\.example/</th>", page)

        assert await found("") == ["c", "a", "b"]
        assert await found("sort=callback") == ["a", "b", "c"]
        assert await found("sort=-lease") == ["c", "a", "b"]
        assert await found("range=1h") == ["c"]
        assert await found("range=6h&sort=-callback") == ["c", "b", "a"]
        assert await found("until=2026-11-20T08:00") == []
        page = text_of(await browser.page("/ui/topics/followers?until=2026-11-20T08:00"))
        assert "No matching subscriptions" in page
    async with open_dashboard(world.store, world.seed.reader_token, **SETTINGS) as browser:
        assert "c.example" not in await browser.page("/ui/topics/followers?sort=callback")
