"""The dashboard's overview, its charts, and the SQL statements of the pages."""

import asyncio
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from dashboard_client import Browser, open_dashboard, text_of
from engines import embedded
from statement_log import plan, statements
from transactions import transaction
from ui_world import World, hook
from waiting import PATIENCE, Stopwatch

from hub.http.ttl_cache import TTLCache
from hub.ui import dashboard, stream
from hub.ui.charts.over_time import Series, curves, nice, stacked
from hub.ui.charts.waterfall import waterfall
from hub.ui.pages import overview
from store.clock import HOUR, MovableClock
from store.database.sqlite.connections import SqliteSession
from store.hooks import hooks
from store.ordering.delivery_states import DEAD


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for the figures, so that a slow store does not matter."""
    monkeypatch.setattr(dashboard, "PATIENCE", 30.0)


def figures(page: str) -> dict[str, str]:
    """The figures of the page, by name."""
    return {
        name: text_of(said)
        for name, said in re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", page, re.DOTALL)
    }


async def test_figures_of_the_overview(world: World) -> None:
    world.send(world.good, "a", "b", "c")
    world.send(world.failing, "d", status_code=500)
    world.send(world.other, "e")
    async with open_dashboard(world.store, world.seed.token) as browser:
        found = figures(await browser.page("/ui"))
        assert found["Delivered"] == "3 0.05 a minute"
        assert found["Success rate"] == "75.0 % 0 failed for good, 1 wait"
        assert found["Latency p50"].startswith(("35 ms", "40 ms", "45 ms"))
        assert "Workers" not in found
        browser.client.cookies.clear()
        await browser.sign_in(world.operator)
        found = figures(await browser.page("/ui"))
        assert found["Delivered"].startswith("4 ")
        assert found["Workers"].endswith("running")


async def test_the_overview_counts_a_bounded_number_of_attempts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send(world.good, "a")
    world.send(world.hidden, "b", "c")
    monkeypatch.setattr(overview, "MOST_COUNTED", 60)
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui")
    assert figures(page)["Delivered"].startswith("2 ")
    assert "1 repository is left out" in text_of(page)


async def test_waiting_deliveries_are_counted(world: World, clock: MovableClock) -> None:
    world.send(world.failing, "d", status_code=500)
    clock.advance(seconds=400)
    for token in (world.seed.token, world.operator):
        async with open_dashboard(world.store, token, last=token == world.operator) as browser:
            found = figures(await browser.page("/ui"))
            assert found["Pending"] == "1 1 due, 0 to be retried"
            assert found["Oldest due"] == "100 s"


async def test_success_is_counted_by_delivery(world: World) -> None:
    world.send(world.good, "a", "b", "c")
    world.send(world.failing, "d", state=DEAD, status_code=410)
    world.send(world.failing, "e", status_code=500, number=5)
    async with open_dashboard(world.store, world.seed.token) as browser:
        found = figures(await browser.page("/ui"))
    assert found["Success rate"] == "60.0 % 1 failed for good, 1 wait"


async def test_deliveries_that_wait_for_long_are_an_alarm(
    world: World, clock: MovableClock
) -> None:
    world.send(world.good, *(f"fine-{number}" for number in range(30)))
    world.send(world.failing, "d", status_code=500)
    for token in (world.seed.token, world.operator):
        async with open_dashboard(world.store, token, last=False) as browser:
            assert "for too long" not in text_of(await browser.page("/ui"))
    clock.advance(seconds=1000)
    for token in (world.seed.token, world.operator):
        async with open_dashboard(world.store, token, last=token == world.operator) as browser:
            text = text_of(await browser.page("/ui"))
            assert "1 delivery waits for too long: 1 has been due for over 10 minutes" in text
            assert "1 endpoint fails, and the first began to fail 17 min ago" in text


async def test_unhealthy_endpoints_worst_first(world: World, clock: MovableClock) -> None:
    with transaction(world.store) as db:
        resting = [hook(db, world.seed.hello["id"], f"more-{number}") for number in range(10)]
    world.send(world.failing, "a", error="connect: refused", status_code=None)
    for one in resting:
        clock.advance(seconds=1)
        until = clock.now() + HOUR
        world.send(one, f"to-{one['id']}", status_code=503, cooldown_until=until)
    world.send(world.hidden, "b", status_code=410)
    world.store.write_sync(hooks.disable, world.hidden["id"], "it answered 410")
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui")
        listed = await browser.page("/ui/hooks?state=unhealthy")
    shown = text_of(page).partition("Unhealthy endpoints")[2].partition("Slowest")[0]
    assert shown.strip().startswith("12 All 12 of them")
    assert shown.count("Circuit open") == 9
    assert shown.index("Disabled it answered 410") < shown.index("Circuit open status 503 503")
    text = text_of(listed)
    assert text.index("Disabled it answered 410") < text.index("Circuit open")
    assert text.rindex("Circuit open") < text.index("Failing connect: refused")
    assert text.count("Circuit open status 503") == 10


async def test_endpoints_that_are_equally_slow_are_in_the_order_of_their_ids(
    world: World,
) -> None:
    with transaction(world.store) as db:
        made = [hook(db, world.seed.hello["id"], f"equal-{number}") for number in range(20)]
    for one in reversed(made):
        world.send(one, f"to-{one['id']}")
    async with open_dashboard(world.store, world.seed.token) as browser:
        slowest = (await browser.page("/ui")).partition("Slowest endpoints")[2]
    shown = [int(number) for number in re.findall(r"receiver\.example/equal-(\d+)", slowest)]
    assert shown
    assert shown == list(range(len(shown)))


async def test_hooks_to_look_after(world: World, clock: MovableClock) -> None:
    world.send(world.good, "a", duration=3_000_000)
    world.send(world.failing, "d", status_code=500)
    world.send(world.other, "x", status_code=500)
    clock.advance(seconds=HOUR // 1_000_000)
    async with open_dashboard(world.store, world.seed.token) as browser:
        text = text_of(await browser.page("/ui?span=6h"))
    failing, slowest = text.split("Slowest endpoints")
    pending = f"1 pending for hook {world.failing['id']}"
    expected = (
        f"https://receiver.example/failing octo/hello Failing status 500 500 {pending} 1 h ago"
    )
    assert expected in failing
    assert "https://receiver.example/good octo/hello 3 s 3 s 1 0" in slowest
    assert "/other" not in text


async def test_the_overview_without_events(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        for span in ("", "?span=24h", "?span=x"):
            text = text_of(await browser.page(f"/ui{span}"))
            assert "No events in this period" in text
            assert "/OWNER/REPO/events/push" in text


async def test_the_hint_for_an_empty_overview_is_renewed_with_its_figures(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        for has_events in (False, True):
            if has_events:
                world.send(world.good, "a")
            page = await browser.page("/ui")
            async with browser.listening("/ui/live?resumed=1") as heard:
                news = await heard.until('"event":"charts"')
            for shown in (page, news):
                assert ("No events in this period" in shown) is not has_events


async def test_charts_can_be_read_without_seeing_them(world: World) -> None:
    world.send(world.good, "a")
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui")
    pictures = re.findall(r"<svg[^>]*role=\"img\".*?</svg>", page, re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        root = ElementTree.fromstring(picture)  # noqa: S314 - our own
        named = {one.get("id") for one in root}
        assert root.get("aria-labelledby") in named
        assert root.get("aria-describedby") in named
    assert "Deliveries and events as a table" in text_of(page)
    # Other times on the page can be local.
    points = re.findall(r"data-points=\"([^\"]*)\"", page)
    assert points
    assert all(re.search(r"\d\d:\d\d UTC", text) for text in points)
    assert re.search(r"<title>\d\d:\d\d UTC: 1 delivered", page)


async def test_the_overview_is_updated_live(
    world: World, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PACE", 0.02)
    async with (
        open_dashboard(world.store, world.seed.token) as browser,
        browser.listening("/ui/live") as heard,
    ):
        sent, waited = 0, Stopwatch()
        # Rows at the stream's first poll are not new, and the test cannot know when that was.
        while '"event":"hooks"' not in heard.text:
            world.send(world.good, f"a-{sent}")
            clock.advance(seconds=3)
            sent += 1
            assert waited.seconds() < PATIENCE, heard.text
            await asyncio.sleep(0.1)
        text = heard.text
    assert '"event":"figures"' in text
    assert '"event":"charts"' in text


PAGES = (
    "/ui", "/ui?span=24h", "/ui/hooks", "/ui/hooks?state=failing",
    "/ui/hooks?repository=octo/hello", "/ui/hooks/{hook}", "/ui/deliveries",
    "/ui/deliveries?status=failure",
    "/ui/deliveries?event=push&status=success", "/ui/deliveries?hook={hook}",
    "/ui/deliveries?repository=octo/hello", "/ui/deliveries?guid=a-1", "/ui/deliveries/{attempt}",
)  # fmt: skip


@pytest.mark.parametrize("who", ["seed", "operator"])
async def test_a_page_costs_as_many_statements_of_many_as_of_few(
    world: World, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = world.operator if who == "operator" else world.seed.token
    (attempt,) = world.send(world.good, "a-1")
    places = [path.format(hook=world.good["id"], attempt=attempt) for path in PAGES]
    async with open_dashboard(world.store, token) as browser:
        few = await _costs(browser, places, monkeypatch)
        world.store.write_sync(_many_more, world)
        for number, one in enumerate((world.good, world.failing, world.hidden)):
            world.send(one, *(f"b-{number}-{at}" for at in range(40)), status_code=500)
        world.send(world.good, *(f"c-{at}" for at in range(40)))
        many = await _costs(browser, places, monkeypatch)
    assert {place: cost for place, cost in many.items() if cost > few[place]} == {}
    assert max(few.values()) <= 16, few


def _many_more(db: Any, world: World) -> None:
    for number in range(40):
        hook(db, world.seed.hello["id"], f"n{number}")
    hooks.disable(db, world.hidden["id"], "it failed")


async def _costs(
    browser: Browser, places: list[str], monkeypatch: pytest.MonkeyPatch
) -> dict[str, int]:
    monkeypatch.setattr(TTLCache, "get", _nothing)
    found = {}
    with monkeypatch.context() as patched:
        asked = statements(patched)
        for place in places:
            asked.clear()
            await browser.page(place)
            found[place] = len(
                [one for one in asked if one.lstrip().startswith(("SELECT", "WITH"))]
            )
    return found


async def _nothing(self: Any, patience: float) -> None:
    raise TimeoutError


@embedded("the test reads the query plans of SQLite")
async def test_no_page_reads_a_table_from_end_to_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (attempt,) = world.send(world.good, "a-1")
    places = [path.format(hook=world.good["id"], attempt=attempt) for path in PAGES]
    asked: list[tuple[str, Any]] = []
    run = SqliteSession.run

    def noting(self: Any, sql: str, given: Any) -> Any:
        asked.append((sql, given))
        return run(self, sql, given)

    monkeypatch.setattr(SqliteSession, "run", noting)
    for token in (world.seed.token, world.operator):
        async with open_dashboard(world.store, token, last=token == world.operator) as browser:
            for place in places:
                await browser.page(place)
    plans = world.store.read_sync(lambda db: [(sql, plan(db, sql, given)) for sql, given in asked])
    for sql, lines in plans:
        for line in lines:
            # A scan in the order of the key with a LIMIT does not read the whole table.
            scanned = re.search(r"SCAN (attempt|delivery|event|a|d|e|x|tally|t)\b(?!.*USING)", line)
            assert scanned is None or "LIMIT" in sql, (line, sql)


class TestCharts:
    def test_bars_stand_on_each_other(self) -> None:
        chart = stacked(
            "T", "u", [0, 60_000_000], [Series("a", "good", [3, 0]), Series("b", "bad", [1, 2])]
        )
        first, second, third = chart.bars
        assert second.y + second.height == pytest.approx(first.y, abs=0.2)
        assert third.y + third.height == pytest.approx(chart.floor, abs=0.2)
        assert chart.rows == [(0, ["3", "1"]), (60_000_000, ["0", "2"])]

    def test_lines_end_where_nothing_is_known(self) -> None:
        series = [Series("p50", "good", [1000.0, 2000.0, None, 5000.0])]
        chart = curves("T", "u", [0, 1, 2, 3], series)
        assert [len(points.split()) for points in chart.lines[0].points] == [2, 2]
        assert chart.ticks[0][1] == "1 ms"

    def test_lines_over_bars_share_their_axis(self) -> None:
        chart = stacked(
            "T", "u", [0], [Series("a", "good", [3])], [Series("b", "busy", [8], "solid")]
        )
        assert [text for _, text in chart.ticks] == ["0", "4", "8"]
        assert chart.rows == [(0, ["3", "8"])]
        assert len(chart.lines[0].points) == 1

    def test_empty_charts_are_drawn(self) -> None:
        assert stacked("T", "u", [], [Series("a", "good", [])]).bars == []
        assert curves("T", "u", [0], [Series("a", "good", [None])]).lines[0].points == []

    @pytest.mark.parametrize(("value", "end"), [(0, 2), (3, 4), (4, 4), (11, 20), (401, 600)])
    def test_an_axis_ends_at_a_round_number(self, value: float, end: float) -> None:
        assert nice(value) == end

    def test_a_waterfall_adds_up(self) -> None:
        found = waterfall({"connect": 100, "wait": 300, "total": 400})
        assert found is not None
        connect, wait = found.stages
        assert (connect.began, wait.began, found.total) == (0, 100, 400)
        assert connect.x + connect.width == pytest.approx(wait.x, abs=0.2)
        assert waterfall({}) is None
        assert waterfall({"total": 5}) is None
        zero = waterfall({"wait": 0})
        assert zero is not None
        assert zero.total == 1
