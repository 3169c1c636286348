"""The database engines that tests run on."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from store import Store
    from store.clock import Clock

# The first test that runs on an engine imports it.
ENGINES = ["sqlite", "postgres"]


def embedded(why: str) -> pytest.MarkDecorator:
    """Mark a test of a feature that only the embedded engine has. `why` is for readers of the
    test.
    """
    assert why
    return pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def open_furnished(url: str, folder: Path, clock: "Clock | None" = None) -> "Store":
    """Open the store of a folder, which is furnished first if it is new.

    In an embedded database that is new there is nothing to migrate or to check. A connection that
    looks for that takes as long as many a test, because it reads the whole schema.
    """
    from store import open_store

    if prepare_database(url, folder) and url == "sqlite":
        return _open_unmigrated(folder, clock)
    return open_store(url, data_dir=folder, clock=clock)


def open_copy(source: Path, folder: Path) -> "Store":
    """Open a copy of an embedded store that is shut, with nothing to migrate, in another folder."""
    for name in ("secret.key", "tocsin.db"):
        shutil.copy(source / name, folder / name)
    return _open_unmigrated(folder)


def _open_unmigrated(folder: Path, clock: "Clock | None" = None) -> "Store":
    from store.crypto.vault import open_vault
    from store.database.opening import open_unmigrated

    vault = open_vault(folder / "secret.key", create=False)
    return open_unmigrated("sqlite", data_dir=folder, vault=vault, clock=clock)


def prepare_database(url: str, folder: Path) -> bool:
    """Put a key into the folder and, if the URL names SQLite, an empty database.

    Copying them is faster than having `open_store` make them. If the folder has either, do nothing,
    and return False.
    """
    if (folder / "tocsin.db").exists() or (folder / "secret.key").exists():
        return False
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, content in _furniture().items():
        if name == "secret.key" or url == "sqlite":
            made = os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600)
            with os.fdopen(made, "wb", buffering=0) as file:
                file.write(content)
    return True


@cache
def _furniture() -> dict[str, bytes]:
    from store import open_store

    with tempfile.TemporaryDirectory() as folder:
        open_store("sqlite", data_dir=Path(folder)).shut()
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@contextmanager
def nothing_yet(engine: str) -> Iterator[str]:
    """Yield the URL for `open_store` of a database without tables."""
    if engine == "sqlite":
        yield "sqlite"
        return
    from postgres_databases import database

    with database(migrated=False) as url:
        yield url


@contextmanager
def no_syncs() -> Iterator[None]:
    """Let no transaction of this process wait for the disk.

    Tests do not cover power failures, and the waiting would take longer than most tests.
    """
    from store.database.sqlite import connections

    with pytest.MonkeyPatch.context() as patch:
        quick = [pragma.replace("= FULL", "= OFF") for pragma in connections.PRAGMAS]
        patch.setattr(connections, "PRAGMAS", quick)
        yield


@contextmanager
def engine_url(engine: str) -> Iterator[str]:
    """Yield the URL for `open_store` of an empty database of an engine in ENGINES."""
    if engine == "sqlite":
        with no_syncs():
            yield "sqlite"
        return
    from postgres_databases import shared_database

    with shared_database() as url:
        yield url
