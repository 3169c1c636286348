"""Signing keys of hooks: made when wanted, imported, rotated, published, and deleted."""

import pytest
from store_world import World

from store import Row
from store.clock import DAY, HOUR
from store.crypto import ed25519
from store.delivery import hook_removal
from store.errors import Invalid
from store.hooks import hooks, signing_keys

WANTED = {"signatures": ["v1", "v1a"]}
SEED = bytes(range(32))
KEY = ed25519.write_private(SEED)


def seeds(world: World, hook: Row) -> list[bytes]:
    return [one.seed for one in world.store.read_sync(signing_keys.private_keys, hook["id"])]


def fresh(world: World, hook: Row) -> Row:
    found = world.store.read_sync(hooks.by_id, hook["id"])
    assert found is not None
    return found


def test_a_key_is_made_when_it_is_wanted(world: World) -> None:
    plain = world.hook("push", options={"signatures": ["v1"]})
    assert (plain["key_set"], seeds(world, plain)) == (None, [])
    one, other = world.hook("push", options=WANTED), world.hook("push", options=WANTED)
    assert len({*seeds(world, one), *seeds(world, other)}) == 2
    assert one["key_set"] != other["key_set"]
    later = world.store.write_sync(hooks.update, plain, options=WANTED)
    (seed,) = seeds(world, later)
    world.store.write_sync(hooks.update, plain, options={})
    again = world.store.write_sync(hooks.update, plain, options=WANTED)
    assert seeds(world, again) == [seed], "the key stays while it is not wanted"


def test_the_private_part_is_encrypted(world: World) -> None:
    hook = world.hook("push", options=WANTED)
    world.store.write_sync(signing_keys.rotate, hook, KEY, 0)
    (stored,) = world.store.read_sync(
        lambda db: db.tuples("SELECT private FROM signing_key WHERE ends_at IS NULL")
    )
    assert KEY.encode() not in bytes(stored[0])
    assert SEED not in bytes(stored[0])


def test_a_rotation_overlaps(world: World) -> None:
    hook = world.hook("push", options=WANTED)
    (old,) = seeds(world, hook)
    version = hook["version"]
    world.store.write_sync(signing_keys.rotate, hook, KEY, HOUR)
    assert seeds(world, hook) == [SEED, old]
    assert fresh(world, hook)["version"] > version
    present, former = world.store.read_sync(signing_keys.public_keys, hook["id"])
    assert (present["ends_at"], former["ends_at"]) == (None, world.now + HOUR)
    world.clock.advance(3600)
    assert seeds(world, hook) == [SEED]
    assert world.store.write_sync(signing_keys.drop_expired, world.now, 10) == 1
    assert seeds(world, hook) == [SEED]


def test_the_same_key_again_changes_nothing(world: World) -> None:
    hook = world.hook("push", options=WANTED)
    world.store.write_sync(signing_keys.rotate, hook, KEY, HOUR)
    version = fresh(world, hook)["version"]
    world.store.write_sync(signing_keys.rotate, fresh(world, hook), KEY, 0)
    assert len(seeds(world, hook)) == 2
    assert fresh(world, hook)["version"] == version


def test_a_second_rotation_drops_the_oldest_key(world: World) -> None:
    hook = world.hook("push", options=WANTED)
    world.store.write_sync(signing_keys.rotate, hook, KEY, HOUR)
    world.store.write_sync(signing_keys.rotate, hook)
    found = seeds(world, hook)
    assert len(found) == 2
    assert found[1] == SEED


def test_an_overlap_is_ended(world: World) -> None:
    hook = world.hook("push", options=WANTED)
    world.store.write_sync(signing_keys.rotate, hook, KEY)
    world.store.write_sync(signing_keys.end_overlap, hook)
    assert seeds(world, hook) == [SEED]


def test_an_imported_key_may_be_the_first(world: World) -> None:
    hook = world.hook("push")
    world.store.write_sync(signing_keys.rotate, hook, KEY)
    assert seeds(world, hook) == [SEED]


@pytest.mark.parametrize(
    ("private", "overlap", "message"),
    [("whsk_AAEC", 0, "32 bytes"), (None, 8 * DAY, "7 days"), (None, -1, "7 days")],
)
def test_invalid_rotations_are_rejected(
    world: World, private: str | None, overlap: int, message: str
) -> None:
    hook = world.hook("push", options=WANTED)
    with pytest.raises(Invalid, match=message):
        world.store.write_sync(signing_keys.rotate, hook, private, overlap)


def test_the_public_set_goes_with_its_hook(world: World) -> None:
    hook = world.hook("push", options=WANTED)
    (row,) = world.store.read_sync(signing_keys.key_set, hook["key_set"]) or []
    assert signing_keys.public_bytes(row) == ed25519.public_of(seeds(world, hook)[0])
    assert world.store.read_sync(signing_keys.key_set, "nothing") is None
    world.store.write_sync(hook_removal.delete, hook)
    assert world.store.read_sync(signing_keys.key_set, hook["key_set"]) is None
