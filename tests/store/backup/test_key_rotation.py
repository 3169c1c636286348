"""Key rotation: every secret is encrypted again, in portions, during other writes."""

from pathlib import Path
from typing import Any

import pytest
from moving_world import fill_all
from store_world import World

from store import Connection, Store, open_store
from store.backup import key_rotation
from store.backup.key_rotation import RotationResult
from store.crypto import key_file
from store.crypto.key_file import Key
from store.database.encrypted_columns import ENCRYPTED_COLUMNS
from store.delivery import sources
from store.hooks import hook_queries, hooks


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_rotation, "PORTION", 3)


def exchanged(path: Path) -> tuple[Key, Key]:
    """Put a new key, which encrypts from now on, into the file. Return it and the old key."""
    old, new = key_file.read_keys(path)[0], key_file.generate()
    with key_file.lock_key_file(path) as holder:
        holder.replace([new, old])
    return new, old


def forgotten(path: Path) -> None:
    with key_file.lock_key_file(path) as holder:
        holder.replace(key_file.read_keys(path)[:1])


def renewed(store: Store) -> dict[str, RotationResult]:
    return {str(one): done for one, done in key_rotation.rotate_secrets(store)}


def test_every_kind_of_secret_is_rotated(tmp_path: Path) -> None:
    store = open_store("sqlite", data_dir=tmp_path)
    store.write_sync(fill_all)

    def texts(db: Connection) -> dict[str, list[str]]:
        return {
            str(one): [
                db.vault.open(row[0])
                for row in db.tuples(
                    f"SELECT {one.column} FROM {one.table}"
                    f" WHERE {one.column} IS NOT NULL ORDER BY {', '.join(one.key)}"
                )
            ]
            for one in ENCRYPTED_COLUMNS
        }

    before = store.read_sync(texts)
    assert all(before.values())
    exchanged(tmp_path / "secret.key")
    found = renewed(store)
    assert {name: len(values) for name, values in before.items()} == {
        name: done.many for name, done in found.items()
    }
    forgotten(tmp_path / "secret.key")
    store.shut()
    again = open_store("sqlite", data_dir=tmp_path)
    assert again.read_sync(texts) == before
    assert all(done == RotationResult(done.examined, 0, 0) for done in renewed(again).values())
    again.shut()


def secrets(store: Store) -> list[str | None]:
    return store.read_sync(lambda db: [hooks.secret_of(db, row) for row in hook_queries.every(db)])


def test_keys_are_rotated_in_portions(world: World, tmp_path: Path) -> None:
    made = [f"hush-{number}" for number in range(10)]
    for number, secret in enumerate(made):
        world.hook("push", secret=secret, url=f"https://receiver.example/{number}")
        world.hook("push", url=f"https://receiver.example/none/{number}")
    world.store.write_sync(sources.create, "forge", "hush")
    exchanged(tmp_path / "data" / "secret.key")
    found = renewed(world.store)
    assert found["hook.secret"] == RotationResult(10, 10, 0)
    assert found["source.secret"] == RotationResult(1, 1, 0)
    forgotten(tmp_path / "data" / "secret.key")
    assert [one for one in secrets(world.store) if one] == made


def test_an_interrupted_rotation_can_be_continued(world: World, tmp_path: Path) -> None:
    for number in range(7):
        world.hook("push", secret=f"hush-{number}", url=f"https://receiver.example/{number}")
    exchanged(tmp_path / "data" / "secret.key")
    one = next(one for one in ENCRYPTED_COLUMNS if str(one) == "hook.secret")
    world.store.write_sync(key_rotation.rotate_portion, one, ())
    assert renewed(world.store)["hook.secret"] == RotationResult(7, 4, 0)


def test_a_secret_changed_meanwhile_keeps_its_new_value(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world.hook("push", secret="before")
    exchanged(tmp_path / "data" / "secret.key")
    real = key_rotation.read_portion

    def stale(db: Connection, *args: Any) -> Any:
        rows = real(db, *args)
        if rows and args[0].table == "hook":
            hook = hooks.by_id(db, made["id"])
            assert hook is not None
            hooks.update(db, hook, secret="after")
        return rows

    monkeypatch.setattr(key_rotation, "read_portion", stale)
    assert renewed(world.store)["hook.secret"].many == 0
    assert secrets(world.store) == ["after"]


def test_a_secret_that_no_key_opens_is_kept(world: World, tmp_path: Path) -> None:
    hook = world.hook("push", secret="hush")
    world.hook("push", secret="hush", url="https://receiver.example/other")
    world.store.write_sync(
        lambda db: db.execute("UPDATE hook SET secret = :x WHERE id = :id", x=b"?", id=hook["id"])
    )
    exchanged(tmp_path / "data" / "secret.key")
    assert renewed(world.store)["hook.secret"] == RotationResult(2, 1, 1)
    kept = world.store.read_sync(
        lambda db: db.value("SELECT secret FROM hook WHERE id = :id", id=hook["id"])
    )
    assert bytes(kept) == b"?"
