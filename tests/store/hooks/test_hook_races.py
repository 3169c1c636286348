"""Two hubs, or a hub and a worker, that change one hook at the same time."""

from collections.abc import Callable

import pytest
from engines import served
from racing import overlap
from required import required
from store_world import World
from transactions import transaction

from store import Connection, Row, Store
from store.accounts import apps
from store.apps import app_hooks, installations
from store.clock import DAY, MINUTE
from store.delivery import hook_removal
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.outcomes import attempt_outcomes
from store.errors import Missing
from store.hook_state import hook_pauses
from store.hooks import hooks, signing_keys
from store.ordering.delivery_states import DEAD

pytestmark = served("SQLite has one writer at a time")

NEW = "https://receiver.example/new"


def patch(hook: Row) -> Callable[[Connection], Row]:
    return lambda db: hooks.update(db, hook, url=NEW)


def now(world: World, hook: Row) -> Row:
    return required(world.store.read_sync(hooks.by_id, hook["id"]))


def subscribed(world: World) -> int:
    return world.store.read_sync(lambda db: db.value("SELECT count(*) FROM subscription"))


def with_two_claimed(world: World) -> tuple[Row, int, list[ClaimedDelivery]]:
    """Return a hook, a lease, and the two deliveries to the hook under the lease."""
    hook = world.hook("push")
    world.arrive("g-1")
    world.arrive("g-2")
    lease = world.lease()
    return hook, lease, world.claim(lease, hook["id"])


@pytest.mark.parametrize("ordering", [None, "hook"])
@pytest.mark.parametrize("deleted_first", [True, False])
def test_a_deleted_hook_stays_deleted(
    world: World, other: Store, url: str, deleted_first: bool, ordering: str | None
) -> None:
    hook = world.hook("push", "star", options={} if ordering is None else {"ordering": ordering})
    delete = (world.store, lambda db: hook_removal.delete(db, hook))
    change = (other, patch(hook))
    found = overlap(url, *((delete, change) if deleted_first else (change, delete)))
    assert isinstance(found[1], Missing) == deleted_first
    assert now(world, hook)["deleted_at"] is not None
    assert subscribed(world) == 0


def test_a_hook_is_deleted_once(world: World, other: Store, url: str) -> None:
    hook = world.hook("push")
    both = [(store, lambda db: hook_removal.delete(db, hook)) for store in (world.store, other)]
    _, found = overlap(url, *both)
    assert isinstance(found, Missing)


@pytest.mark.parametrize("paused_first", [True, False])
def test_a_pause_outlasts_a_change(
    world: World, other: Store, url: str, paused_first: bool
) -> None:
    hook = world.hook("push")
    pause = (world.store, lambda db: hook_pauses.pause(db, hook))
    change = (other, patch(hook))
    overlap(url, *((pause, change) if paused_first else (change, pause)))
    row = now(world, hook)
    assert (row["paused_at"], row["url"]) == (world.now, NEW)


def test_a_resumed_hook_stays_resumed(world: World, other: Store, url: str) -> None:
    hook = world.store.write_sync(hook_pauses.pause, world.hook("push"))
    resume = (world.store, lambda db: hook_pauses.resume(db, hook))
    overlap(url, resume, (other, patch(hook)))
    row = now(world, hook)
    assert (row["paused_at"], row["url"]) == (None, NEW)


@pytest.mark.parametrize("disabled_first", [True, False])
def test_a_disabled_hook_stays_disabled(
    world: World, other: Store, url: str, disabled_first: bool
) -> None:
    hook = world.hook("push")
    disable = (world.store, lambda db: hooks.disable(db, hook["id"], "the receiver is gone"))
    change = (other, patch(hook))
    overlap(url, *((disable, change) if disabled_first else (change, disable)))
    row = now(world, hook)
    assert (row["active"], row["disabled_reason"]) == (0, "the receiver is gone")
    assert (row["url"], subscribed(world)) == (NEW, 0)


def test_an_installation_does_not_wait_for_a_change_of_the_app_s_hook(
    world: World, other: Store
) -> None:
    """Its subscriptions refer to the hook. The change waits for them, so both would deadlock."""
    given = {"url": "https://mill.example/", "kind": "integration", "events": ["push"]}
    permissions = {"contents": "read"}
    mine = world.user["id"]
    _, app = world.store.write_sync(apps.create, mine, "Mill", permissions=permissions, **given)
    hook = world.store.write_sync(app_hooks.create, app, url=NEW)
    with transaction(world.store) as db:
        hooks.lock(db, hook)
        other.write_sync(installations.create, app, world.user)
        hooks.update(db, hook, content_type="json")
    assert world.arrive().deliveries == 1


@pytest.mark.parametrize("signed", [True, False])
def test_two_rotations_leave_one_present_key(
    world: World, other: Store, url: str, signed: bool
) -> None:
    hook = world.hook("push", options={"signatures": ["v1a"]} if signed else {})

    def rotate(db: Connection) -> str | None:
        signing_keys.rotate(db, hook, overlap=0)
        row = required(hooks.by_id(db, hook["id"]))
        key_set: str | None = row["key_set"]
        return key_set

    one, two = overlap(url, (world.store, rotate), (other, rotate))
    assert one == two == now(world, hook)["key_set"]
    kept = world.store.read_sync(signing_keys.private_keys, hook["id"])
    assert [key.until for key in kept] == [None]


def test_options_that_two_hubs_change_both_count(world: World, other: Store, url: str) -> None:
    """Each does what PATCH does: it adds to the options that the hook has."""
    hook = world.hook("push")

    def add(**options: object) -> Callable[[Connection], Row]:
        def change(db: Connection) -> Row:
            row = hooks.lock(db, hook)
            return hooks.update(db, row, options={**row["options"], **options})

        return change

    overlap(url, (world.store, add(timeout=5)), (other, add(ordering="hook")))
    assert now(world, hook)["options"] == {"timeout": 5, "ordering": "hook"}


@pytest.mark.parametrize("ordering", [None, "hook"])
def test_a_late_answer_asks_nothing_of_a_url_that_is_edited_meanwhile(
    world: World, other: Store, url: str, ordering: str | None
) -> None:
    hook = world.hook("push", options={} if ordering is None else {"ordering": ordering})
    world.arrive("g-1")
    lease = world.lease()
    (claimed,) = world.claim(lease, hook["id"])
    asked = {"disable": "gone", "held_until": world.now + DAY}
    gone = world.failure(lease, claimed, state=DEAD, turn=claimed.turn, **asked)
    overlap(
        url, (world.store, patch(hook)), (other, lambda db: attempt_outcomes.record(db, [gone]))
    )
    row = now(world, hook)
    assert (row["url"], row["active"], row["held_until"]) == (NEW, 1, None)
    (again,) = world.claim(lease, hook["id"])
    assert again.id == claimed.id


def test_a_late_failure_ends_no_days_of_failures_of_a_url_that_is_edited_meanwhile(
    world: World, other: Store, url: str
) -> None:
    hook, lease, (one, two) = with_two_claimed(world)
    world.store.write_sync(lambda db: attempt_outcomes.record(db, [world.failure(lease, one)]))
    world.clock.advance(6 * 86_400)
    late = world.failure(lease, two, disable_after=5 * DAY)
    overlap(
        url, (world.store, patch(hook)), (other, lambda db: attempt_outcomes.record(db, [late]))
    )
    assert now(world, hook)["active"] == 1


def test_a_failure_brings_back_no_wait_that_an_edit_ends_meanwhile(
    world: World, other: Store, url: str
) -> None:
    hook, lease, (one, two) = with_two_claimed(world)
    held = world.failure(lease, one, held_until=world.now + DAY)
    world.store.write_sync(lambda db: attempt_outcomes.record(db, [held]))
    late = world.failure(lease, two, cooldown_until=world.now + MINUTE)
    overlap(
        url, (world.store, patch(hook)), (other, lambda db: attempt_outcomes.record(db, [late]))
    )
    assert (now(world, hook)["url"], now(world, hook)["held_until"]) == (NEW, None)
