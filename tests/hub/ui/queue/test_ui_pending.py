"""The pending deliveries of a hook: why they wait, when each is tried, and a retry at once."""

from typing import Any

from dashboard_client import open_dashboard, text_of
from transactions import transaction
from ui_world import World

from store.clock import MINUTE
from store.hook_state import hook_pauses
from store.hooks import hooks


def change(world: World, what: str, **values: Any) -> None:
    """Change the row of the failing hook."""
    with transaction(world.store) as db:
        db.execute(f"UPDATE hook SET {what} WHERE id = :id", id=world.failing["id"], **values)


def due(world: World) -> list[int]:
    return world.store.read_sync(
        lambda db: db.column("SELECT due_at - :now FROM delivery WHERE state = 0")
    )


async def test_the_list_leads_to_the_events_with_the_deliveries_marked(world: World) -> None:
    world.send(world.failing, "g-1", "g-2", status_code=503)
    at = f"/ui/hooks/{world.failing['id']}"
    async with open_dashboard(world.store, world.seed.token) as browser:
        for path in (at, "/ui/hooks", "/ui"):
            assert f'href="{at}/pending"' in await browser.page(path), path
        page = await browser.page(f"{at}/pending")
        for event_id, delivery_id in ((1, 1), (2, 2)):
            link = f"/ui/events/{event_id}?delivery={delivery_id}#delivery-{delivery_id}"
            assert f'href="{link}"' in page
        assert "Each waits for the time of its next attempt" in text_of(page)
        assert "in 5 min" in text_of(page)


async def test_the_list_has_the_reason_of_the_wait(world: World) -> None:
    world.send(world.failing, "g-1", status_code=503)
    place = f"/ui/hooks/{world.failing['id']}/pending"
    later = {"later": world.store.clock.now() + MINUTE}
    async with open_dashboard(world.store, world.seed.token) as browser:

        async def said() -> str:
            return text_of(await browser.page(place))

        change(world, "resting_until = :later, failing_since = :later", **later)
        assert "The circuit breaker is open" in await said()
        change(world, "held_until = :later", **later)
        assert "asked for no request before" in await said()
        change(world, "paused_at = :later", **later)
        assert "The hook is paused since" in await said()
        change(world, "active = 0")
        assert "Each fails when its next attempt is due" in await said()
        ordered = {"ordering": "hook"}
        row = world.store.read_sync(hooks.by_id, world.failing["id"])
        world.store.write_sync(hooks.update, row, options=ordered)
        assert "ordered. They wait until it is on again" in await said()
        world.store.write_sync(hooks.update, row, options={})
        change(world, "active = 1, paused_at = NULL, held_until = NULL, resting_until = NULL")
        with transaction(world.store) as db:
            db.execute("UPDATE delivery SET due_at = :now")
        assert "The receiver answers more slowly than events come" in await said()
        world.store.write_sync(
            lambda db: hooks.update(
                db, hooks.by_id(db, world.failing["id"]), options={"concurrency": 1, "rate": 2}
            )
        )
        assert "allow 1 request at a time and 2 requests a second" in await said()


async def test_pending_deliveries_are_tried_at_once(world: World) -> None:
    world.send(world.failing, "g-1", "g-2", status_code=503)
    place = f"/ui/hooks/{world.failing['id']}/pending"
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert "Try now" in await browser.page(place)
        assert min(due(world)) > 0
        retry = place.replace("pending", "retry")
        answer = await browser.post(retry, on=place)
        assert answer.headers["location"] == place
        assert "2 deliveries are tried now" in await browser.page(place)
        assert max(due(world)) <= 0
        world.store.write_sync(
            lambda db: hook_pauses.pause(db, hooks.by_id(db, world.failing["id"]))
        )
        assert (await browser.post(retry, on=place)).status_code == 409
        assert "Try now" not in await browser.page(place)
        browser.client.cookies.clear()
        await browser.sign_in(world.look_only)
        assert "Try now" not in await browser.page(place)
        assert (await browser.post(retry, on=place)).status_code == 403


async def test_a_hook_without_pending_deliveries_says_so(world: World) -> None:
    world.send(world.good, "g-1")
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page(f"/ui/hooks/{world.good['id']}/pending")
        assert "No delivery waits" in page
        assert f"/ui/hooks/{world.good['id']}/pending" not in await browser.page("/ui/hooks")
