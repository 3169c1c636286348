"""Pages of events: their order with any filter, and the limit of events that they examine."""

import itertools
from typing import Any

import pytest
from statement_log import statements
from store_world import World

from store.delivery import event_queries, hook_removal
from store.delivery.listing import event_page
from store.delivery.listing.event_page import EventFilter
from store.hooks.event_names import EventPattern


def pages(world: World, limit: int = 3, **given: Any) -> list[int]:
    """Return the event ids of all pages. Check their order and that no page exceeds `limit`."""
    found: list[int] = []
    before = None
    for _ in range(200):
        wanted = EventFilter(before=before, **given)
        rows, before = world.store.read_sync(event_page.page, wanted, limit)
        assert len(rows) <= limit
        found += [row["id"] for row in rows]
        if before is None:
            break
    assert found == sorted(set(found), reverse=True)
    return found


@pytest.fixture
def filled(world: World) -> World:
    """20 events: of four repositories and of no repository in turn, alternately stars and pushes.

    One repository has a hook, for pushes.
    """
    repos = [world.repo["id"], *(world.another_repo(f"r-{at}")["id"] for at in range(3)), 0]
    world.hook("push")
    for at, repo_id in zip(range(20), itertools.cycle(repos), strict=False):
        name = "push" if at % 2 else "star"
        world.arrive(f"g-{at}", repo_id=repo_id, name=name, scope=repo_id or -1)
    return world


def test_pages_hold_all_events_newest_first(filled: World) -> None:
    assert pages(filled) == list(range(20, 0, -1))
    assert pages(filled, limit=50) == list(range(20, 0, -1))


def test_events_are_selected_by_repository(filled: World) -> None:
    assert pages(filled, repo_ids=[1]) == [16, 11, 6, 1]
    assert pages(filled, repo_ids=[1, 2]) == [17, 16, 12, 11, 7, 6, 2, 1]
    assert pages(filled, repo_ids=[]) == []
    assert pages(filled, repo_ids=[99]) == []
    assert 20 not in pages(filled, repo_ids=[1, 2, 3, 4])


@pytest.mark.parametrize("part", ["push.Übergabe", "PUSH.Über"])
def test_events_are_selected_by_an_action_with_a_capital_beyond_ascii(
    filled: World, part: str
) -> None:
    event = filled.arrive("g-20", name="push", action="Übergabe").event_id
    assert pages(filled, repo_ids=[1], pattern=EventPattern(part)) == [event]


@pytest.mark.parametrize(("looked", "most"), [(5_000, 100), (6, 100), (4, 2), (2, 1)])
def test_in_windows_too(
    filled: World, monkeypatch: pytest.MonkeyPatch, looked: int, most: int
) -> None:
    monkeypatch.setattr(event_page, "LOOKED", looked)
    monkeypatch.setattr(event_page, "REPOSITORIES", most)
    pushes = [at for at in range(20, 0, -1) if at % 2 == 0]
    assert pages(filled, name="push") == pushes
    assert pages(filled, name="push", repo_ids=[1, 2]) == [at for at in pushes if at % 5 in (1, 2)]
    wanted = {16, 6}
    unwanted = [at for at in range(20, 0, -1) if at not in wanted]
    assert pages(filled, unwanted=True) == unwanted
    assert pages(filled, unwanted=True, repo_ids=[1]) == [11, 1]
    assert pages(filled, unwanted=True, repo_ids=[1, 2, 3, 4]) == [
        at for at in unwanted if at % 5 != 0
    ]
    assert pages(filled, unwanted=True, name="push", repo_ids=[1]) == []


def test_a_page_shows_repository_and_deliveries_of_each_event(filled: World) -> None:
    rows, _ = filled.store.read_sync(event_page.page, EventFilter(), 5)
    assert [row["repository"] for row in rows] == [
        None,
        "ada/r-2",
        "ada/r-1",
        "ada/r-0",
        "ada/engine",
    ]
    assert [row["deliveries"] for row in rows] == [0, 0, 0, 0, 1]
    assert all(row["kept"] == 1 for row in rows)
    filled.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL WHERE id = 20"))
    shown = filled.store.read_sync(event_queries.get, 20)
    assert shown is not None
    assert shown["kept"] == 0
    assert filled.store.read_sync(event_queries.get, 99) is None


def test_the_deliveries_of_one(filled: World) -> None:
    second = filled.hook("push")
    receipt = filled.arrive("g-more")
    rows = filled.store.read_sync(event_queries.deliveries_of, receipt.event_id, 10)
    assert [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)
    # The engine decides in which order an event's deliveries to several hooks are created.
    assert {row["hook_id"] for row in rows} == {1, second["id"]}
    assert [row["state"] for row in rows] == ["waiting", "waiting"]
    assert len(filled.store.read_sync(event_queries.deliveries_of, receipt.event_id, 1)) == 1
    filled.store.write_sync(hook_removal.delete, second)
    assert len(filled.store.read_sync(event_queries.deliveries_of, receipt.event_id, 10)) == 2


def test_a_page_is_four_statements_at_most(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = statements(monkeypatch)
    filled.store.read_sync(event_page.page, EventFilter(unwanted=True, repo_ids=[1, 2, 3]), 5)
    assert len([sql for sql in seen if sql.startswith("SELECT")]) == 4


@pytest.mark.parametrize(
    "wanted",
    [
        EventFilter(),
        EventFilter(name="push"),
        EventFilter(unwanted=True),
        EventFilter(repo_ids=[1, 2, 3]),
        EventFilter(unwanted=True, repo_ids=[1, 2, 3]),
    ],
)
def test_the_first_page_and_its_number_are_as_asked_apart(
    filled: World, wanted: EventFilter
) -> None:
    rows, older = filled.store.read_sync(event_page.page, wanted, 2)
    matches = filled.store.read_sync(event_page.count, wanted)
    assert filled.store.read_sync(event_page.first_page, wanted, 2) == (rows, older, matches)


def test_the_first_page_and_its_number_are_one_search(
    filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = statements(monkeypatch)
    filled.store.read_sync(event_page.first_page, EventFilter(unwanted=True, repo_ids=[1, 2, 3]), 5)
    assert len([sql for sql in seen if sql.startswith("SELECT")]) == 4
