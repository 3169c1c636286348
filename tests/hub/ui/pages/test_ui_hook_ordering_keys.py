"""The keys of an ordered hook on the dashboard: blocked keys are shown, skipped and discarded."""

from typing import Any

from dashboard_client import open_dashboard, text_of
from ui_world import World, hook, outcome

from store import Connection
from store.clock import HOUR
from store.delivery import deliveries, leases, outbox
from store.delivery.outcomes import attempt_outcomes
from store.ordering import operations
from store.ordering.delivery_states import DEAD


def blocked(db: Connection, world: World) -> dict[str, Any]:
    """Create an ordered hook. The first of three deliveries is dead and blocks the key `<7>`."""
    options = {"ordering": {"path": "/n"}, "on_exhausted": "block"}
    made = hook(db, world.seed.hello["id"], "ordered", options=options)
    for step in range(3):
        outbox.emit(db, "push", None, made["repo_id"], {"n": "<7>", "step": step})
    lease = leases.acquire(db, "tests", HOUR)
    (one,), _ = deliveries.claim(db, [made["id"]], lease, 10)
    died = outcome(db, made, lease, one.event_id, one.id, {"status_code": 500, "state": DEAD})
    died.turn = one.turn
    attempt_outcomes.record(db, [died])
    return made


async def test_a_blocked_key_is_shown_and_skipped(world: World) -> None:
    made = world.store.write_sync(blocked, world)
    at = f"/ui/hooks/{made['id']}"
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page(at)
        assert "&lt;7&gt;" in page
        text = text_of(page)
        assert "1 blocked" in text
        assert "/n" in text
        assert (await browser.post(f"{at}/keys/skip", {"key": "<7>"}, on=at)).status_code == 303
        assert "No key is blocked" in text_of(await browser.page(at))
        answer = await browser.post(f"{at}/keys/discard", {"key": "<7>"}, on=at)
        assert answer.status_code == 303
        assert world.store.read_sync(operations.keys, made["id"], 10) == []
        again = await browser.post(f"{at}/keys/skip", {"key": "<7>"}, on=at)
        assert again.status_code == 404


async def test_ordering_keys_are_read_only_without_write_access(world: World) -> None:
    made = world.store.write_sync(blocked, world)
    at = f"/ui/hooks/{made['id']}"
    async with open_dashboard(world.store, world.look_only) as browser:
        assert "1 blocked" in text_of(await browser.page(at))
        for act in ("skip", "discard"):
            answer = await browser.post(f"{at}/keys/{act}", {"key": "<7>"}, on=at)
            assert answer.status_code == 403


async def test_an_unordered_hook_has_no_keys(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = text_of(await browser.page(f"/ui/hooks/{world.good['id']}"))
        assert "Ordered deliveries" not in page
