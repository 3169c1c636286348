"""Problems: failing hooks grouped by host and outcome, acknowledged and muted."""

import re
from typing import Any

import pytest
from dashboard_client import next_page, open_dashboard, text_of
from ui_world import World, hook

from hub.ui.pages import problems as problems_page
from store.alerts import alerts, problems, trouble
from store.alerts.alerts import NewAlert
from store.alerts.rules import BACKLOG_HIGH, KEY_BLOCKED
from store.clock import MovableClock
from store.hook_state import hook_pauses
from store.hooks import hooks


def found(world: World) -> list[tuple[Any, ...]]:
    rows = world.store.read_sync(problems.list_all, None)
    is_open = any(one.state == problems.OPEN for one in rows)
    assert world.store.read_sync(trouble.exists, None) is is_open
    return [(one.host, one.kind, one.deliveries, len(one.hooks), one.state) for one in rows]


def test_hooks_that_fail_alike_are_one_problem(world: World, clock: MovableClock) -> None:
    on_another_port = world.store.write_sync(
        hook, world.seed.hello["id"], "x", url="https://ci.example:8443/x"
    )
    world.send(world.failing, "before", status_code=401)
    world.send(world.failing, "well")
    clock.advance(seconds=60)
    began = clock.now()
    world.send(world.failing, "a", "b", status_code=401)
    clock.advance(seconds=60)
    world.send(world.hidden, "c", status_code=401)
    world.send(world.good, "d", status_code=503)
    world.send(world.other, "e", error="connect: refused", status_code=None)
    world.send(on_another_port, "f", error="connect: timed out", status_code=None)
    assert found(world) == [
        ("receiver.example", "401", 3, 2, "open"),
        ("receiver.example", "503", 1, 1, "open"),
        ("receiver.example", "connect", 1, 1, "open"),
        ("ci.example:8443", "connect", 1, 1, "open"),
    ]
    first = world.store.read_sync(problems.list_all, None)[0]
    assert first.since == began
    world.send(world.good, "g")
    world.store.write_sync(hook_pauses.pause, world.failing)
    assert ("receiver.example", "401", 1, 1, "open") in found(world)
    assert len(found(world)) == 3


async def test_deliveries_are_counted_in_so_many_attempts_of_all_hooks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "MOST_OF_ALL", 6)
    world.send(world.failing, "a", "b", "c", status_code=401)
    world.send(world.good, "d", "e", status_code=503)
    assert found(world) == [
        ("receiver.example", "401", 3, 1, "open"),
        ("receiver.example", "503", 2, 1, "open"),
    ]
    world.send(world.good, "f", "g", status_code=503)
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page("/ui/problems"))
        assert "503 from receiver.example open 3+ 1" in page
        # The page of one problem counts the attempts of its hooks alone.
        page = text_of(await browser.page("/ui/problem?host=receiver.example&kind=503"))
        assert "Deliveries 4 that failed" in page


async def test_a_page_has_the_first_of_many_problems(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems_page, "PAGE", 2)
    third = world.store.write_sync(
        hook, world.seed.hello["id"], "x", url="https://receiver.example/x"
    )
    for number, one in enumerate((world.failing, world.good, third)):
        world.send(one, f"a{number}", status_code=500 + number)
    listed = re.compile('<th scope="row" class="url"><a [^>]+>(50[0-2]) from')
    async with open_dashboard(world.store, world.seed.token) as browser:
        first = await browser.page("/ui/problems?sort=problem")
        assert listed.findall(first) == ["500", "501"]
        assert '<span class="faint matches">3 problems</span>' in first
        second = await browser.page(next_page(first))
        assert listed.findall(second) == ["502"]
        assert 'rel="next"' not in second
        assert 'href="/ui/problems?sort=problem"' in second, (
            "the second page has a link to the first"
        )
        ended = await browser.page("/ui/problems?sort=problem&skip=98")
        assert listed.findall(ended) == ["500", "501"]


async def test_a_pull_hook_is_named_by_its_url(world: World) -> None:
    for name in ("ci", "other"):
        made = world.store.write_sync(hook, world.seed.hello["id"], name, url=f"pull:{name}")
        world.send(made, name, error="receiver: no disk", status_code=None)
    assert found(world) == [
        ("pull:ci", "receiver", 1, 1, "open"),
        ("pull:other", "receiver", 1, 1, "open"),
    ]
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/problem?host=pull:ci&kind=receiver")
        (place,) = re.findall(r'href="(/ui/hosts/[^"]*)"', page)
        page = await browser.page(place)
        assert "pull:ci" in page
        assert "pull:other" not in page


def test_a_disabled_hook_is_a_problem_until_it_is_enabled(world: World) -> None:
    world.send(world.good, "a", status_code=410, disable="the receiver answered 410 Gone", state=2)
    assert found(world) == [("receiver.example", "410", 1, 1, "open")]
    row = world.store.read_sync(hooks.by_id, world.good["id"])
    assert row is not None
    world.store.write_sync(hooks.update, row, active=True)
    assert found(world) == []


async def test_a_problem_is_acknowledged_muted_and_opened_again(
    world: World, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=401)
    at = "/ui/problem?host=receiver.example&kind=401"
    form = {"host": "receiver.example", "kind": "401"}
    async with open_dashboard(world.store, world.seed.token, ui_idle=10**6) as browser:
        page = await browser.page("/ui/problems")
        assert "401 from receiver.example open 1 1" in text_of(page)
        assert (await browser.post("/ui/problems/acknowledge", form, on=at)).status_code == 303
        assert "acknowledged by octo" in text_of(await browser.page("/ui/problems"))
        # Another hook with the same problem opens it again.
        clock.advance(seconds=60)
        world.send(world.good, "b", status_code=401)
        assert found(world) == [("receiver.example", "401", 2, 2, "open")]
        mute = {**form, "hours": "8"}
        assert (await browser.post("/ui/problems/mute", mute, on=at)).status_code == 303
        assert "muted" in text_of(await browser.page(at))
        clock.advance(seconds=8 * 3600 - 1)
        assert found(world)[0][-1] == "muted"
        clock.advance(seconds=2)
        assert found(world)[0][-1] == "open"
        await browser.post("/ui/problems/acknowledge", form, on=at)
        assert found(world)[0][-1] == "acknowledged"
        # A new failure after a recovery is a new problem.
        for one in (world.failing, world.good):
            world.send(one, f"well-{one['id']}")
        assert found(world) == []
        clock.advance(seconds=60)
        world.send(world.good, "again", status_code=401)
        assert found(world)[0][-1] == "open"
        await browser.post("/ui/problems/acknowledge", form, on=at)
        assert (await browser.post("/ui/problems/reopen", form, on=at)).status_code == 303
        assert found(world)[0][-1] == "open"
        wrong = {**form, "hours": "9999"}
        assert (await browser.post("/ui/problems/mute", wrong, on=at)).status_code == 422


def test_an_acknowledgement_by_a_fast_clock_covers_no_later_problem(
    world: World, clock: MovableClock
) -> None:
    clock.advance(seconds=10 * 86_400)
    world.send(world.failing, "a", status_code=401)
    (problem,) = world.store.read_sync(problems.list_all, None)
    world.store.write_sync(problems.acknowledge, problem, "octo")
    assert found(world)[0][-1] == "acknowledged"
    clock.advance(seconds=-10 * 86_400)
    world.send(world.failing, "well")
    world.send(world.failing, "again", status_code=401)
    assert found(world)[0][-1] == "open"


def test_an_alert_of_a_fast_clock_can_be_acknowledged(world: World, clock: MovableClock) -> None:
    opened = [
        NewAlert(KEY_BLOCKED, world.good["id"], subject="refs/main"),
        NewAlert(BACKLOG_HIGH, alerts.INSTALLATION),
    ]
    clock.advance(seconds=10 * 86_400)
    world.store.write_sync(alerts.open_all, opened)
    clock.advance(seconds=-10 * 86_400)
    for problem in world.store.read_sync(problems.list_all, None):
        world.store.write_sync(problems.acknowledge, problem, "octo")
    assert {state for *_, state in found(world)} == {"acknowledged"}
    assert not world.store.read_sync(trouble.exists, None)


async def test_all_that_failed_of_a_problem_is_counted_first(world: World) -> None:
    world.send(world.failing, "a", "b", status_code=401, state=2)
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/problem?host=receiver.example&kind=401")
        (place,) = re.findall(r'href="(/ui/replay\?[^"]+)"', page)
        page = text_of(await browser.page(place.replace("&amp;", "&")))
        assert "Deliveries to be created 2" in page


async def test_others_problems_are_not_seen_or_changed(world: World) -> None:
    world.send(world.other, "a", status_code=500)
    world.send(world.failing, "b", status_code=401)
    form = {"host": "receiver.example", "kind": "500"}
    async with open_dashboard(world.store, world.seed.token, last=False) as browser:
        assert "500 from" not in text_of(await browser.page("/ui/problems"))
        assert (await browser.get("/ui/problem?host=receiver.example&kind=500")).status_code == 404
        assert (await browser.post("/ui/problems/acknowledge", form)).status_code == 404
    async with open_dashboard(world.store, world.look_only) as browser:
        page = await browser.page("/ui/problem?host=receiver.example&kind=401")
        assert "Acknowledge" not in page
        mine = {**form, "kind": "401", "hours": "1"}
        for act in ("acknowledge", "mute", "reopen"):
            assert (await browser.post(f"/ui/problems/{act}", mine)).status_code == 403, act
    assert {one[-1] for one in found(world)} == {"open"}


async def test_blocked_keys_and_a_high_backlog_are_problems(
    world: World, clock: MovableClock
) -> None:
    world.store.write_sync(
        alerts.open_all,
        [
            NewAlert(KEY_BLOCKED, world.good["id"], subject="refs/main"),
            NewAlert(KEY_BLOCKED, world.other["id"], subject="refs/main"),
            NewAlert(BACKLOG_HIGH, alerts.INSTALLATION),
        ],
    )
    form = {"host": "receiver.example", "kind": KEY_BLOCKED}
    at = f"/ui/problem?host=receiver.example&kind={KEY_BLOCKED}"
    async with open_dashboard(world.store, world.seed.token, last=False) as browser:
        page = text_of(await browser.page("/ui/problems"))
        assert "blocked keys of receiver.example (1 hook) open" in page
        assert "backlog" not in page.partition("one problem.")[2].partition("Problem State")[2]
        assert "receiver.example/good" in await browser.page(at)
    async with open_dashboard(world.store, world.operator) as browser:
        assert "high backlog of the installation" in text_of(await browser.page("/ui/problems"))
        where = f"/ui/problem?host=installation&kind={BACKLOG_HIGH}"
        assert "Acknowledge" in await browser.page(where)
        backlog = {"host": "installation", "kind": BACKLOG_HIGH, "hours": "1"}
        assert (await browser.post("/ui/problems/mute", backlog, on=where)).status_code == 303
        assert (await browser.post("/ui/problems/acknowledge", form, on=at)).status_code == 303
    assert found(world) == [
        ("receiver.example", KEY_BLOCKED, 0, 2, "acknowledged"),
        ("installation", BACKLOG_HIGH, 0, 0, "muted"),
    ]
    # Another blocked key of a hook opens the problem again.
    clock.advance(seconds=60)
    world.store.write_sync(
        alerts.open_all, [NewAlert(KEY_BLOCKED, world.good["id"], subject="refs/next")]
    )
    assert found(world)[0] == ("receiver.example", KEY_BLOCKED, 0, 2, "open")


async def test_an_alarm_ends_when_every_problem_is_muted(world: World, clock: MovableClock) -> None:
    world.send(world.failing, "a", status_code=401)
    clock.advance(seconds=1200)
    form = {"host": "receiver.example", "kind": "401", "hours": "8"}
    async with open_dashboard(world.store, world.seed.token, ui_idle=10**6) as browser:
        assert "for too long" in text_of(await browser.page("/ui"))
        await browser.post(
            "/ui/problems/mute", form, on="/ui/problem?host=receiver.example&kind=401"
        )
        assert "for too long" not in text_of(await browser.page("/ui"))
        clock.advance(seconds=8 * 3600 + 1)
        assert "for too long" in text_of(await browser.page("/ui"))
