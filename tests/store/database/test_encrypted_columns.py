"""The list of encrypted columns is complete, and the key of another database is refused."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from store_world import World

from store import Connection, Store, open_store
from store.database import encrypted_columns
from store.database.encrypted_columns import ENCRYPTED_COLUMNS, PLAIN
from store.delivery import sources
from store.errors import Unusable
from store.hooks import hooks


@pytest.fixture
def sqlite(tmp_path: Path) -> Store:
    opened = open_store("sqlite", data_dir=tmp_path)
    opened.shut()
    return opened


def columns_of_bytes(db: Connection) -> set[tuple[str, str]]:
    rows = db.tuples(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND c.type = 'BLOB'"
    )
    return set(rows)


def test_every_column_of_bytes_is_sealed_or_plain(sqlite: Store) -> None:
    known = {(one.table, one.column) for one in ENCRYPTED_COLUMNS}
    assert not known & PLAIN
    assert sqlite.read_sync(columns_of_bytes) == known | PLAIN, (
        "add the column to ENCRYPTED_COLUMNS of store/database/encrypted_columns.py, or to PLAIN"
    )


@pytest.mark.parametrize("one", ENCRYPTED_COLUMNS, ids=str)
def test_the_key_of_each_is_its_tables(
    sqlite: Store, one: encrypted_columns.EncryptedColumn
) -> None:
    rows = sqlite.read_sync(
        lambda db: db.tuples(
            f"SELECT name FROM pragma_table_info('{one.table}') WHERE pk > 0 ORDER BY pk"
        )
    )
    assert tuple(row[0] for row in rows) == one.key


def test_secrets_are_found_in_any_encrypted_column(world: World) -> None:
    look = world.store.read_sync
    assert not look(encrypted_columns.has_secrets)
    world.hook("push")
    assert not look(encrypted_columns.has_secrets)
    world.store.write_sync(sources.create, "forge", "hush")
    assert look(encrypted_columns.has_secrets)


def test_the_newest_values_come_first(world: World) -> None:
    for number in range(3):
        world.hook("push", secret=f"hush-{number}", url=f"https://receiver.example/{number}")
    world.hook("push", url="https://receiver.example/none")

    def opened(db: Connection, limit: int) -> list[str]:
        return [
            db.vault.open(one)
            for one in encrypted_columns.newest_values(
                db, encrypted_columns.EncryptedColumn("hook", "secret"), limit
            )
        ]

    assert world.store.read_sync(opened, 1) == ["hush-2"]
    assert world.store.read_sync(opened, 2) == ["hush-2", "hush-1"]


def test_a_damaged_secret_does_not_stop_the_start(world: World) -> None:
    world.store.write_sync(sources.create, "forge", "hush")
    hook = world.hook("push", secret="hush")
    world.store.write_sync(lambda db: db.execute("UPDATE hook SET secret = :bad", bad=b"damaged"))
    world.store.read_sync(encrypted_columns.verify_key)
    with pytest.raises(Unusable, match="does not open"):
        world.store.read_sync(hooks.secret_of, hooks_row(world, hook["id"]))
    world.store.write_sync(lambda db: db.execute("UPDATE source SET secret = :bad", bad=b"damaged"))
    with pytest.raises(Unusable, match="does not open"):
        world.store.read_sync(encrypted_columns.verify_key)


def hooks_row(world: World, hook_id: int) -> dict[str, object]:
    found = world.store.read_sync(hooks.by_id, hook_id)
    assert found is not None
    return found


def test_a_store_with_the_key_of_another_is_not_opened(
    world: World, url: str, tmp_path: Path
) -> None:
    world.hook("push", secret="hush")
    other = tmp_path / "other.key"
    other.write_bytes(Fernet.generate_key())
    with pytest.raises(Unusable, match="restore the key file that belongs to this database"):
        open_store(url, data_dir=tmp_path / "data", key_file=other)
