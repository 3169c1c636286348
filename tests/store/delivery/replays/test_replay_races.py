"""One replay that a person starts twice at the same time."""

from collections.abc import Callable

import pytest
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection


def start(db: Connection, who: str = "ada") -> Row:
    return replay_runs.start(db, ReplaySelection(), who)


def test_a_replay_that_is_under_way_is_not_started_again(world: World) -> None:
    run = world.store.write_sync(start)
    assert world.store.write_sync(start) == run
    assert world.store.write_sync(start, "bob")["id"] != run["id"]
    world.store.write_sync(replay_runs.cancel, run["id"])
    assert world.store.write_sync(start)["id"] != run["id"]


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_two_starts_at_once_begin_one_replay(
    world: World, opened: Callable[[], Store], url: str
) -> None:
    one, two = overlap(url, (world.store, start), (opened(), start))
    assert one == two
