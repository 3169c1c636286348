"""An operation and the projector change one label or one milestone at the same time."""

from collections.abc import Callable
from typing import Any

import pytest
from engines import served
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.clock import MINUTE
from store.errors import existing
from store.issues import label_changes, labels, milestone_changes, milestones
from store.projection import projection_table

pytestmark = served("SQLite has one writer at a time")

BUG = {"id": 11, "name": "bug", "color": "d73a4a"}
PEAL = {"id": 21, "number": 3, "title": "v1.0"}
Change = Callable[[Connection], object]


def project(db: Connection, world: World, kind: str, given: dict[str, Any]) -> None:
    """Project an event that came a minute ago."""
    event = {
        "id": 1,
        "name": kind,
        "action": "edited",
        "repo_id": world.repo["id"],
        "source_id": 0,
        "received_at": world.now - MINUTE,
    }
    projection_table.project(db, event, {"action": "edited", kind: given})


def race(
    world: World, url: str, edit: Change, other: Store, event: Change, *, edited_first: bool
) -> None:
    """Let an edit and an older event overlap."""
    both = (world.store, edit), (other, event)
    overlap(url, *(both if edited_first else both[::-1]))


def of(db: Connection, world: World, kind: str) -> Row:
    repo_id = world.repo["id"]
    found = labels.list_all(db, repo_id)[0] if kind == "label" else milestones.get(db, repo_id, 3)
    return existing(found, kind)


@pytest.mark.parametrize("edited_first", [True, False])
def test_an_older_event_does_not_undo_the_edit_of_a_label(
    world: World, opened: Callable[[], Store], url: str, edited_first: bool
) -> None:
    world.store.write_sync(project, world, "label", BUG)
    row = world.store.read_sync(of, world, "label")
    race(
        world,
        url,
        lambda db: label_changes.update(db, row, {"name": "defect", "color": "000000"}),
        opened(),
        lambda db: project(db, world, "label", BUG | {"color": "111111"}),
        edited_first=edited_first,
    )
    after = world.store.read_sync(of, world, "label")
    assert (after["name"], after["color"]) == ("defect", "000000")


@pytest.mark.parametrize("edited_first", [True, False])
def test_an_older_event_does_not_undo_the_edit_of_a_milestone(
    world: World, opened: Callable[[], Store], url: str, edited_first: bool
) -> None:
    world.store.write_sync(project, world, "milestone", PEAL)
    row = world.store.read_sync(of, world, "milestone")
    race(
        world,
        url,
        lambda db: milestone_changes.update(db, row, {"title": "ours", "state": "closed"}),
        opened(),
        lambda db: project(db, world, "milestone", PEAL | {"title": "older"}),
        edited_first=edited_first,
    )
    after = world.store.read_sync(of, world, "milestone")
    assert (after["title"], after["state"]) == ("ours", "closed")
