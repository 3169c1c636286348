"""The consumers of a pull hook on the dashboard."""

from dashboard_client import open_dashboard, text_of
from ui_world import World, hook

from store import Connection
from store.delivery import outbox
from store.pull import consumers


def _pull_hook(db: Connection, world: World) -> int:
    made = hook(db, world.seed.hello["id"], "ci", url="pull:ci")
    hook_id: int = made["id"]
    return hook_id


async def test_the_page_of_a_pull_hook_shows_its_consumers(world: World) -> None:
    hook_id = world.store.write_sync(_pull_hook, world)
    async with open_dashboard(world.store, world.seed.token) as browser:
        text = text_of(await browser.page(f"/ui/hooks/{hook_id}"))
        assert "Nobody has fetched deliveries in the last day" in text
        world.store.write_sync(consumers.touch, hook_id, "octo@laptop")
        text = text_of(await browser.page(f"/ui/hooks/{hook_id}"))
        assert "octo@laptop Attached" in " ".join(text.split())


async def test_a_pull_hook_has_no_time_of_the_next_attempt(world: World) -> None:
    """The hub sends nothing to it. A consumer decides when it fetches a delivery."""
    hook_id = world.store.write_sync(_pull_hook, world)
    world.store.write_sync(outbox.emit, "ping", None, world.seed.hello["id"], {}, only_hook=hook_id)
    async with open_dashboard(world.store, world.seed.token) as browser:
        text = text_of(await browser.page(f"/ui/hooks/{hook_id}"))
    assert f"Pending 1 pending for hook {hook_id} for this endpoint Next attempt – " in text


async def test_a_hook_that_is_sent_its_deliveries_has_none(world: World) -> None:
    made = world.store.write_sync(hook, world.seed.hello["id"], "ci")
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert "Consumers" not in text_of(await browser.page(f"/ui/hooks/{made['id']}"))
