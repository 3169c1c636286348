"""An operation and the projector change one commit comment at the same time."""

from collections.abc import Callable
from typing import Any

import pytest
from engines import served
from issue_world import OCTO, SHA
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.issues import commit_comments
from store.projection import projection_table
from store.repositories.markdown import RenderedText

pytestmark = served("SQLite has one writer at a time")

REPORTED = {
    "id": 33548674,
    "user": OCTO,
    "commit_id": SHA,
    "created_at": "2019-05-15T15:20:39Z",
    "updated_at": "2019-05-15T15:20:39Z",
}


def project(db: Connection, world: World, body: str) -> None:
    event = {
        "id": 1,
        "name": "commit_comment",
        "action": "created",
        "repo_id": world.repo["id"],
        "source_id": 0,
        "received_at": world.now,
    }
    payload: dict[str, Any] = {"action": "created", "comment": REPORTED | {"body": body}}
    projection_table.project(db, event, payload)


def comment(world: World) -> Row:
    (row,) = world.store.read_sync(commit_comments.page, world.repo["id"], limit=9, offset=0)
    return row


@pytest.mark.parametrize("edited_first", [True, False])
def test_an_older_event_does_not_undo_an_edit(
    world: World, opened: Callable[[], Store], url: str, edited_first: bool
) -> None:
    world.store.write_sync(project, world, "theirs")
    row = comment(world)
    world.clock.advance(60)
    edit = (world.store, lambda db: commit_comments.update(db, row, RenderedText("ours")))
    event = (opened(), lambda db: project(db, world, "older"))
    overlap(url, *((edit, event) if edited_first else (event, edit)))
    assert comment(world)["body"] == "ours"
