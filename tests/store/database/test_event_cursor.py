"""Pages of a hook's events, while other processes write events."""

from collections.abc import Callable

from engines import served
from store_world import World

from store import Connection, Store
from store.clock import SECOND, MovableClock
from store.delivery import events
from store.hooks import hooks
from store.pull import event_cursor

pytestmark = served("SQLite has one writer at a time")


def test_a_page_waits_for_an_earlier_event_however_long_its_transaction_takes(
    world: World, opened: Callable[[], Store], clock: MovableClock
) -> None:
    hook = world.hook("push", url="pull:ci")
    other = opened()
    session = other.engine.session()
    session.begin(clock.now(), write=True)
    try:
        (early,) = events.accept_all(session.db, [world.arrival("early")])
        late = world.arrive("late")
        assert late.event_id > early.event_id
        clock.advance((event_cursor.LONGEST_WRITE + 1) / SECOND)
        assert world.store.read_sync(shown, hook["id"]) == []
        session.commit()
    finally:
        session.close()
    assert world.store.read_sync(shown, hook["id"]) == [early.event_id, late.event_id]


def shown(db: Connection, hook_id: int) -> list[int]:
    hook = hooks.by_id(db, hook_id)
    assert hook is not None
    return [row["id"] for row in event_cursor.page(db, hook, 0, 100).rows]
