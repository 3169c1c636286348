"""Commit comments from payloads of platforms."""

from typing import Any

import pytest
from platform_events import report
from store_world import World
from transactions import transaction

from store import Row
from store.accounts import accounts
from store.clock import iso
from store.issues import commit_comments
from store.repositories.markdown import RenderedText

SHA = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"


def reported(**changed: Any) -> dict[str, Any]:
    """A comment in the platform's shape."""
    comment = {
        "id": 33548674,
        "user": {"login": "Codertocat", "id": 21031067, "type": "User"},
        "position": None,
        "line": 3,
        "path": "a.py",
        "commit_id": SHA,
        "created_at": "2019-05-15T15:20:39Z",
        "updated_at": "2019-05-15T15:20:39Z",
        "author_association": "OWNER",
        "body": "This is a *really* good change!",
    }
    return comment | changed


def event(**comment: Any) -> dict[str, Any]:
    return {"action": "created", "comment": reported(**comment), "sender": {"login": "Codertocat"}}


def reflect(world: World, payload: dict[str, Any]) -> None:
    report(world.store, world.repo, "commit_comment.created", source_id=0, **payload)


def every(world: World) -> list[Row]:
    return world.store.read_sync(commit_comments.page, world.repo["id"], limit=100, offset=0)


def test_a_commit_comment_is_kept(world: World) -> None:
    reflect(world, event())
    (row,) = every(world)
    author = world.store.read_sync(accounts.by_login, "codertocat")
    assert author is not None
    assert row["author_id"] == author["id"]
    assert (row["foreign_id"], row["commit_id"], row["path"]) == (33548674, SHA, "a.py")
    assert (row["line"], row["position"], row["author_association"]) == (3, None, "OWNER")
    assert row["html"] == "<p>This is a <em>really</em> good change!</p>\n"
    assert row["plain"] == "This is a really good change!"
    assert row["created_at"] == 1_557_933_639_000_000


def test_a_comment_is_found_by_either_id(world: World) -> None:
    reflect(world, event())
    (row,) = every(world)
    assert world.store.read_sync(commit_comments.get, world.repo["id"], row["id"]) == row
    assert world.store.read_sync(commit_comments.get, world.repo["id"], 33548674) == row
    elsewhere = world.another_repo()["id"]
    for number in (row["id"], 33548674):
        assert world.store.read_sync(commit_comments.get, elsewhere, number) is None


def test_a_later_word_wins_and_an_earlier_one_does_not(world: World) -> None:
    reflect(world, event(body="second", updated_at="2019-05-16T00:00:00Z"))
    reflect(world, event(body="first"))
    (row,) = every(world)
    assert row["body"] == "second"
    reflect(world, event(body="third", updated_at="2019-05-17T00:00:00Z"))
    (row,) = every(world)
    assert (row["body"], row["plain"]) == ("third", "third")


def test_an_earlier_event_changes_no_operation_back(world: World) -> None:
    reflect(world, event())
    (row,) = every(world)
    world.store.write_sync(commit_comments.update, row, RenderedText("ours"))
    world.clock.advance(60)
    (edited,) = every(world)
    reflect(world, event())
    assert every(world) == [edited]
    world.store.write_sync(commit_comments.delete, edited)
    reflect(world, event())
    assert every(world) == []
    world.clock.advance(60)
    reflect(world, event(body="theirs", updated_at=iso(world.now)))
    (back,) = every(world)
    assert back["body"] == "theirs"
    world.clock.advance(60)
    reflect(world, event())
    assert every(world) == [back]


def test_missing_fields_keep_their_values(world: World) -> None:
    reflect(world, event())
    reflect(world, {"comment": {"id": 33548674, "line": None}})
    (row,) = every(world)
    assert row["line"] is None
    assert (row["body"], row["path"]) == ("This is a *really* good change!", "a.py")
    assert row["author_id"] is not None


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"comment": None},
        {"comment": []},
        {"comment": "x"},
        {"comment": {"id": "1", "commit_id": SHA}},
        {"comment": {"id": 1}},
        {"comment": {"id": 1, "commit_id": "main"}},
        {"comment": {"id": 1, "commit_id": SHA[:10]}},
        {"comment": {"id": -1, "commit_id": SHA}},
    ],
)
def test_invalid_comments_are_passed_over(world: World, payload: dict[str, Any]) -> None:
    reflect(world, payload)
    assert every(world) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"user": "x"},
        {"user": {"login": "a b"}},
        {"body": 1},
        {"path": ["x"]},
        {"line": "3"},
        {"position": 2**70},
        {"author_association": "GOD"},
        {"created_at": "yesterday"},
        {"updated_at": {}},
        {"rendered": {"html": "<script>"}},
    ],
)
def test_odd_members_are_ignored(world: World, odd: dict[str, Any]) -> None:
    reflect(world, event(**odd))
    (row,) = every(world)
    assert row["commit_id"] == SHA
    assert "<script" not in row["html"]


def test_a_body_has_a_bound(world: World) -> None:
    reflect(world, event(body="x" * 70_000))
    (row,) = every(world)
    assert len(row["body"]) == commit_comments.MOST_BODY


def test_own_and_reported_comments_are_kept_side_by_side(world: World) -> None:
    with transaction(world.store) as db:
        mine = commit_comments.create(
            db, world.repo["id"], world.user["id"], SHA, RenderedText("mine")
        )
    reflect(world, event())
    assert [row["body"] for row in every(world)] == ["mine", "This is a *really* good change!"]
    assert world.store.read_sync(commit_comments.get, world.repo["id"], mine["id"]) == mine


def test_comments_are_counted_to_a_bound(world: World) -> None:
    for number in range(5):
        reflect(world, event(id=number))
    counted = [
        world.store.read_sync(commit_comments.count, world.repo["id"], most=most)
        for most in (3, 5, 9)
    ]
    assert counted == [3, 5, 5]
