"""A database file that has lost its content is not taken for a new one, and its log is kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from store import open_store
from store.accounts import accounts
from store.crypto.key_file import create_key_file
from store.crypto.vault import open_vault
from store.database.opening import open_unmigrated
from store.errors import Damaged

OPENINGS: dict[str, Callable[[Path], object]] = {
    "serve": lambda folder: open_store("sqlite", data_dir=folder),
    "a command": lambda folder: open_store("sqlite", data_dir=folder, create=False),
    "completion": lambda folder: open_unmigrated(
        "sqlite", data_dir=folder, vault=open_vault(folder / "secret.key", create=False)
    ),
}


@pytest.fixture(params=OPENINGS)
def opening(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    return OPENINGS[request.param]


def left_by_a_crash(folder: Path) -> bytes:
    """Make an installation whose changes are in its log alone. Return the log."""
    store = open_store("sqlite", data_dir=folder)
    store.write_sync(accounts.create, "ada")
    names = ("tocsin.db", "tocsin.db-wal")
    content = {name: (folder / name).read_bytes() for name in names}
    store.shut()
    for name in names:
        (folder / name).write_bytes(content[name])
    return content["tocsin.db-wal"]


def test_a_log_without_its_database_is_kept(
    tmp_path: Path, opening: Callable[[Path], object]
) -> None:
    log = left_by_a_crash(tmp_path)
    database = tmp_path / "tocsin.db"
    database.write_bytes(b"")
    with pytest.raises(Damaged, match=r"is empty, and .*tocsin.db-wal shows .* a backup"):
        opening(tmp_path)
    database.unlink()
    with pytest.raises(Damaged, match="is missing, and"):
        opening(tmp_path)
    assert (tmp_path / "tocsin.db-wal").read_bytes() == log


def test_an_empty_file_beside_others_is_refused(
    tmp_path: Path, opening: Callable[[Path], object]
) -> None:
    create_key_file(tmp_path / "secret.key")
    (tmp_path / "tocsin.db").touch()
    with pytest.raises(Damaged, match="is empty, and"):
        opening(tmp_path)
    assert (tmp_path / "tocsin.db").stat().st_size == 0


def test_a_database_that_was_moved_away_is_made_again(tmp_path: Path) -> None:
    create_key_file(tmp_path / "secret.key")
    (tmp_path / "tocsin.worker.lock").write_bytes(b"")
    store = open_store("sqlite", data_dir=tmp_path)
    assert store.read_sync(accounts.list_all) == []
    store.shut()


def test_a_start_that_was_killed_early_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "tocsin.db").write_bytes(b"")
    open_store("sqlite", data_dir=tmp_path).shut()
