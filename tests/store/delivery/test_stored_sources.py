"""Sources of events, and the record of refused events."""

import pytest
from store_world import World

from store import Connection
from store.delivery import rejections, sources
from store.errors import Conflict, Invalid


def opened(db: Connection) -> dict[str, str]:
    return {row["name"]: db.vault.open(row["secret"]) for row in sources.secrets(db)}


def test_a_source_has_the_given_values(world: World) -> None:
    made = world.store.write_sync(sources.create, "forge", "s3cret", owner_id=world.user["id"])
    assert made == made | {
        "name": "forge",
        "owner_id": world.user["id"],
        "created_at": world.now,
    }
    assert world.store.read_sync(sources.by_name, "forge") == made
    assert world.store.read_sync(sources.by_name, "other") is None


def test_secrets_are_sealed_and_open(world: World) -> None:
    world.store.write_sync(sources.create, "forge", "s3cret")
    (row,) = world.store.read_sync(sources.secrets)
    assert b"s3cret" not in bytes(row["secret"])
    assert world.store.read_sync(opened) == {"forge": "s3cret"}
    assert all("secret" not in row for row in world.store.read_sync(sources.every))


def test_a_secret_can_be_replaced(world: World) -> None:
    made = world.store.write_sync(sources.create, "forge", "old")
    world.store.write_sync(sources.set_secret, made["id"], "new")
    assert world.store.read_sync(opened) == {"forge": "new"}


def test_a_source_without_a_secret_is_refused(world: World) -> None:
    """With an empty secret, anybody could sign."""
    with pytest.raises(Invalid):
        world.store.write_sync(sources.create, "forge", "")
    made = world.store.write_sync(sources.create, "forge", "s3cret")
    with pytest.raises(Invalid):
        world.store.write_sync(sources.set_secret, made["id"], "")
    assert world.store.read_sync(opened) == {"forge": "s3cret"}


def test_a_name_is_taken_once(world: World) -> None:
    world.store.write_sync(sources.create, "forge", "one")
    with pytest.raises(Conflict):
        world.store.write_sync(sources.create, "forge", "two")
    assert world.store.read_sync(opened) == {"forge": "one"}


@pytest.mark.parametrize("name", ["", "Forge", "-a", "a-", "a b", "a/b", "a" * 65, "a\n"])
def test_bad_names_of_sources(world: World, name: str) -> None:
    with pytest.raises(Invalid):
        world.store.write_sync(sources.create, name, "s3cret")


def test_sources_are_listed_with_their_owners(world: World) -> None:
    world.store.write_sync(sources.create, "two", "s")
    world.store.write_sync(sources.create, "one", "s", owner_id=world.user["id"])
    listed = world.store.read_sync(sources.every)
    assert [(row["name"], row["owner"]) for row in listed] == [("one", "ada"), ("two", None)]


def test_the_number_of_sources_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST", 2)
    for name in ("one", "two"):
        world.store.write_sync(sources.create, name, "s")
    with pytest.raises(Invalid, match="2 sources"):
        world.store.write_sync(sources.create, "three", "s")


def test_a_source_can_be_removed_once(world: World) -> None:
    made = world.store.write_sync(sources.create, "forge", "s")
    assert world.store.write_sync(sources.remove, made["id"])
    assert not world.store.write_sync(sources.remove, made["id"])
    assert world.store.read_sync(sources.every) == []


def test_a_new_source_is_not_taken_for_a_removed_one(world: World) -> None:
    """A source's id is the scope of its events' guids, so no id is used again."""
    first = world.store.write_sync(sources.create, "one", "s")
    world.store.write_sync(sources.remove, first["id"])
    assert world.store.write_sync(sources.create, "two", "s")["id"] > first["id"]


def test_a_refusal_has_the_given_values(world: World) -> None:
    world.store.write_sync(
        rejections.add,
        path="/events",
        reason="too large",
        address="192.0.2.7",
        sender="forge",
        event="push",
        guid="g-1",
        size=30_000_000,
    )
    assert world.store.read_sync(rejections.page) == [
        {
            "id": 1,
            "at": world.now,
            "path": "/events",
            "address": "192.0.2.7",
            "sender": "forge",
            "event": "push",
            "guid": "g-1",
            "size": 30_000_000,
            "reason": "too large",
        }
    ]


def test_refusals_are_shown_newest_first(world: World) -> None:
    for at in range(5):
        world.store.write_sync(rejections.add, path=f"/{at}", reason="bad")
    assert [row["path"] for row in world.store.read_sync(rejections.page, limit=2)] == ["/4", "/3"]


def test_at_most_a_thousand_refusals_are_kept(world: World) -> None:
    def flood(db: Connection) -> None:
        for at in range(1_250):
            rejections.add(db, path=f"/{at}", reason="bad")

    world.store.write_sync(flood)
    rows = world.store.read_sync(rejections.page, limit=10_000)
    assert [row["path"] for row in rows] == [f"/{at}" for at in range(1_249, 249, -1)]
