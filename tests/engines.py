"""The database engines that tests run on."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

# The first test that runs on an engine imports it.
ENGINES = ["sqlite", "postgres"]


def embedded(why: str) -> pytest.MarkDecorator:
    """Mark a test of a feature that only the embedded engine has. `why` is for readers of the
    test.
    """
    assert why
    return pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def furnish(url: str, folder: Path) -> None:
    """Put a key into the folder and, if the URL names SQLite, an empty database.

    Copying them is faster than having `open_store` make them. If the folder has either, do nothing.
    """
    if (folder / "tocsin.db").exists() or (folder / "secret.key").exists():
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, content in _furniture().items():
        path = folder / name
        if name == "secret.key":
            path.write_bytes(content)
            path.chmod(0o600)
        elif url == "sqlite":
            path.write_bytes(content)


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
