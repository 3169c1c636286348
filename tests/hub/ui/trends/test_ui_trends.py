"""Trends of a hook and of a host: success, latency and status codes over time."""

import re

import pytest
from dashboard_client import open_dashboard, text_of
from ui_world import World, hook

from store.clock import MovableClock


async def test_a_hook_s_trends_cover_the_chosen_period(world: World, clock: MovableClock) -> None:
    world.send(world.good, "old", status_code=418)
    clock.advance(seconds=3 * 86_400)
    world.send(world.good, *(f"g-{number}" for number in range(3)), duration=40_000)
    world.send(world.good, "bad", status_code=503)
    at = f"/ui/hooks/{world.good['id']}/trends"
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page(at))
        assert "Success rate 75.0 % 3 of 4 attempts" in page
        assert "503 Service Unavailable 1 25.0 %" in page
        assert "418" not in page
        for span, many in (("1h", 4), ("6h", 4), ("7d", 5), ("30d", 5), ("x", 4)):
            page = await browser.page(f"{at}?span={span}")
            assert f"of {many} attempts" in text_of(page), span
        assert "418 I'm a Teapot" in text_of(await browser.page(f"{at}?span=30d"))
        empty = text_of(await browser.page(f"/ui/hooks/{world.failing['id']}/trends"))
        assert "No attempts in this period" in empty
        assert (await browser.get(f"/ui/hooks/{world.other['id']}/trends")).status_code == 403


async def test_the_chart_has_codes_of_every_class(world: World) -> None:
    for code, guid in ((200, "a"), (999, "b"), (101, "c")):
        world.send(world.good, guid, status_code=code)
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page(f"/ui/hooks/{world.good['id']}/trends")
        bars = re.findall(r"<title>[^:]+:\d\d UTC: (\d+ \w+)</title>", page)
        assert bars == ["1 2xx", "2 other"]
        assert "Success rate 33.3 % 1 of 3 attempts" in text_of(page)


@pytest.mark.parametrize(
    ("span", "seconds"), [("1h", 3_500), ("24h", 86_200), ("7d", 600_000), ("30d", 2_590_000)]
)
async def test_trends_and_deliveries_of_a_period_agree(
    world: World, clock: MovableClock, span: str, seconds: int
) -> None:
    world.send(world.good, "one", status_code=418)
    clock.advance(seconds=seconds)
    async with open_dashboard(world.store, world.seed.token) as browser:
        for page in (f"hooks/{world.good['id']}/trends?span", "deliveries?range"):
            assert "418" in text_of(await browser.page(f"/ui/{page}={span}")), page


async def test_all_hooks_of_a_host_that_one_may_see(world: World) -> None:
    elsewhere = world.store.write_sync(
        hook, world.seed.hello["id"], "x", url="https://receiver.example.net/x"
    )
    ported = world.store.write_sync(
        hook, world.seed.hello["id"], "x", url="https://user@RECEIVER.example:8443/x"
    )
    world.send(world.good, "a")
    world.send(world.hidden, "b", status_code=500)
    for one in (world.other, elsewhere, ported):
        world.send(one, f"of-{one['id']}")
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/hosts/receiver.example")
        assert "of 2 attempts" in text_of(page)
        assert set(re.findall(r"example(/\w+)\"?<", page)) == {"/good", "/failing", "/hidden"}
        ids = ",".join(str(one["id"]) for one in (world.hidden, world.failing, world.good))
        assert f'href="/ui/replay?hook={ids}&amp;count=usual"' in page
        page = await browser.page("/ui/hosts/receiver.example:8443")
        assert "of 1 attempt" in text_of(page)
        for host in ("nowhere.example", "%25", "a%00b"):
            assert (await browser.get(f"/ui/hosts/{host}")).status_code == 404


async def test_no_percentile_is_above_the_longest_attempt(world: World) -> None:
    world.send(world.good, "a", "b", duration=102_000)
    at = f"/ui/hooks/{world.good['id']}/trends"
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert "p95 102 ms p99 102 ms" in text_of(await browser.page(at))
        assert (
            world.store.write_sync(lambda db: db.execute("DELETE FROM attempt WHERE id = 1")) == 1
        )
        page = text_of(await browser.page(at))
        assert "p99 102 ms" not in page, "an attempt that is gone may have been longer"
