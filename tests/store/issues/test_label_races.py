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
DEFECT = {"name": "defect", "color": "000000"}
OURS = {"title": "ours", "state": "closed"}
Overlapping = tuple[Store, Callable[[Connection], object]]


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


def of(db: Connection, world: World, kind: str) -> Row:
    repo_id = world.repo["id"]
    found = labels.list_all(db, repo_id)[0] if kind == "label" else milestones.get(db, repo_id, 3)
    return existing(found, kind)


@pytest.mark.parametrize("edited_first", [True, False])
@pytest.mark.parametrize(
    ("kind", "given", "older", "update", "edit"),
    [
        ("label", BUG, {"color": "111111"}, label_changes.update, DEFECT),
        ("milestone", PEAL, {"title": "older"}, milestone_changes.update, OURS),
    ],
    ids=["label", "milestone"],
)
def test_an_older_event_does_not_undo_an_edit(
    world: World,
    opened: Callable[[], Store],
    url: str,
    kind: str,
    given: dict[str, Any],
    older: dict[str, Any],
    update: Callable[[Connection, Row, Any], object],
    edit: dict[str, Any],
    edited_first: bool,
) -> None:
    world.store.write_sync(project, world, kind, given)
    row = world.store.read_sync(of, world, kind)
    edited: Overlapping = (world.store, lambda db: update(db, row, edit))
    reported: Overlapping = (opened(), lambda db: project(db, world, kind, given | older))
    overlap(url, *((edited, reported) if edited_first else (reported, edited)))
    after = world.store.read_sync(of, world, kind)
    assert edit.items() <= after.items()
