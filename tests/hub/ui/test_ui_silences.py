"""Silences of a hook and of a host, and the icon that shows open problems."""

import re

from dashboard_client import Browser, open_dashboard, text_of
from ui_world import World

from store import Connection
from store.accounts import accounts, tokens
from store.alerts import alerts, problems, trouble
from store.alerts.alerts import NewAlert
from store.alerts.rules import KEY_BLOCKED
from store.clock import MovableClock
from store.hook_state import hook_pauses, hook_silences
from store.hooks import hooks
from store.hooks.hook_targets import organization


def silenced(world: World) -> set[int]:
    every = [one["id"] for one in (world.good, world.failing, world.hidden, world.other)]
    return set(world.store.read_sync(hook_silences.active, every))


def states(world: World) -> set[str]:
    found = {one.state for one in world.store.read_sync(problems.list_all, None)}
    assert world.store.read_sync(trouble.exists, None) is (problems.OPEN in found)
    return found


async def test_a_hook_is_silenced_before_it_fails(world: World, clock: MovableClock) -> None:
    at = f"/ui/hooks/{world.failing['id']}"
    async with open_dashboard(world.store, world.seed.token, ui_idle=10**6) as browser:
        answer = await browser.post(f"{at}/silence", {"hours": "8"}, on=at)
        assert answer.headers["location"] == at
        page = text_of(await browser.page(at))
        assert "Silenced for 8 hours: it begins no alert. Its deliveries go on." in page
        assert "UTC by octo. It begins no alert until then" in page
        world.send(world.failing, "a", status_code=401)
        assert states(world) == {"muted"}
        assert "silenced until" in text_of(await browser.page("/ui/hooks?state=unhealthy"))
        clock.advance(seconds=8 * 3600 + 1)
        assert states(world) == {"open"}
        assert "silenced until" not in text_of(await browser.page("/ui/hooks?state=unhealthy"))
        await browser.post(f"{at}/silence", {"hours": "1"}, on=at)
        assert (await browser.post(f"{at}/silence/end", on=at)).status_code == 303
        assert states(world) == {"open"}
        wrong = await browser.post(f"{at}/silence", {"hours": "9999"}, on=at)
        assert wrong.status_code == 422


async def test_opening_a_problem_again_ends_the_silence_of_its_hooks(world: World) -> None:
    world.send(world.failing, "a", status_code=401)
    where = f"/ui/hooks/{world.failing['id']}"
    async with open_dashboard(world.store, world.seed.token) as browser:
        await browser.post(f"{where}/silence", {"hours": "1"}, on=where)
        assert states(world) == {"muted"}
        form = {"host": "receiver.example", "kind": "401"}
        await browser.post(
            "/ui/problems/reopen", form, on="/ui/problem?host=receiver.example&kind=401"
        )
    assert (states(world), silenced(world)) == ({"open"}, set())


async def test_all_hooks_of_a_host_that_one_may_change_are_silenced(world: World) -> None:
    at = "/ui/hosts/receiver.example"
    mine = {world.good["id"], world.failing["id"], world.hidden["id"]}
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert "End the silence" not in await browser.page(at)
        answer = await browser.post(f"{at}/silence", {"hours": "24"}, on=at)
        assert answer.headers["location"] == at
        assert "Silenced 3 hooks for 1 day." in text_of(await browser.page(at))
        assert silenced(world) == mine
        assert (await browser.post(f"{at}/silence/end", on=at)).status_code == 303
        assert silenced(world) == set()
        nowhere = await browser.post("/ui/hosts/nowhere.example/silence", {"hours": "1"}, on=at)
        assert nowhere.status_code == 404


async def test_silences_need_write_access(world: World) -> None:
    form = {"hours": "1"}
    async with open_dashboard(world.store, world.look_only, last=False) as browser:
        at = f"/ui/hooks/{world.good['id']}"
        assert "Silence for" not in await browser.page(at)
        for place in (at, "/ui/hosts/receiver.example"):
            for end in ("", "/end"):
                answer = await browser.post(f"{place}/silence{end}", form)
                assert answer.status_code == 403, (place, end)
    async with open_dashboard(world.store, world.seed.token) as browser:
        answer = await browser.post(f"/ui/hooks/{world.other['id']}/silence", form)
        assert answer.status_code == 403
    assert silenced(world) == set()


async def test_an_owner_sees_the_hooks_of_the_organization_on_the_page_of_a_host(
    world: World,
) -> None:
    def found(db: Connection) -> str:
        org = accounts.create(db, "guild", kind="Organization")
        accounts.join(db, org["id"], world.seed.octo["id"], "admin")
        url = "https://org.example/in"
        hooks.create(db, organization(org["id"]), url=url, events=["push"], content_type="json")
        return tokens.create(db, world.seed.octo["id"], scopes=["repo", "admin:org_hook"])[0]

    async with open_dashboard(world.store, world.store.write_sync(found)) as browser:
        assert "https://org.example/in guild" in text_of(
            await browser.page("/ui/hosts/org.example")
        )


async def icon(browser: Browser, path: str = "/ui/events") -> str:
    page = await browser.page(path)
    return "trouble" if re.search(r'rel="icon" href="[^"]+/bell-trouble.svg"', page) else "calm"


async def test_the_icon_of_every_page_shows_an_open_problem(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token, last=False) as browser:
        assert await icon(browser) == "calm"
        world.send(world.other, "a", status_code=500)
        assert await icon(browser) == "calm"
        world.send(world.failing, "b", status_code=401)
        for path in ("/ui", "/ui/events", "/ui/sessions", f"/ui/hooks/{world.good['id']}"):
            assert await icon(browser, path) == "trouble", path
        at = "/ui/problem?host=receiver.example&kind=401"
        form = {"host": "receiver.example", "kind": "401"}
        await browser.post("/ui/problems/acknowledge", form, on=at)
        assert await icon(browser) == "calm"
    async with open_dashboard(world.store, world.operator) as browser:
        assert await icon(browser) == "trouble"


async def test_a_problem_names_the_health_of_hooks_as_other_pages_do(world: World) -> None:
    world.store.write_sync(
        alerts.open_all,
        [NewAlert(KEY_BLOCKED, one["id"], subject="k") for one in (world.good, world.failing)],
    )
    world.store.write_sync(hook_pauses.pause, world.failing)
    world.send(world.good, "a")
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page(f"/ui/problem?host=receiver.example&kind={KEY_BLOCKED}"))
    assert "2 hooks" in page
    assert {"Healthy", "Paused"} <= set(page.split())
