"""A store on a real database, a clock that stands still, and a little world in the store."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from engines import open_furnished
from store_world import START, World, make_world

from store import Store
from store.clock import MovableClock
from store.database.connection import Engine
from store.database.sqlite.engine import SqliteEngine

Opened = Callable[[], Store]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
async def opened(
    anyio_backend: str, url: str, tmp_path: Path, clock: MovableClock
) -> AsyncIterator[Opened]:
    """Opens one more store on the test's database, as another process would."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(open_furnished(url, tmp_path / "data", clock))
        return stores[-1]

    yield open_one
    for store in stores:
        await store.close()


@pytest.fixture
def other(opened: Opened, store: Store) -> Store:
    """A second store on the test's database, which stands for another process."""
    return opened()


@pytest.fixture
def store(opened: Opened) -> Iterator[Store]:
    store = opened()
    with as_if_running(store.engine):
        yield store


@contextmanager
def as_if_running(engine: Engine) -> Iterator[None]:
    """Keep a connection to a SQLite file open, as a running daemon would.

    When the last connection closes, SQLite checkpoints the file, which takes long.
    """
    if not isinstance(engine, SqliteEngine):
        yield
        return
    with closing(sqlite3.connect(engine.path)) as daemon:
        # This opens the file. Most other statements, and a session, would parse the whole schema.
        daemon.execute("PRAGMA schema_version").fetchall()
        yield


@pytest.fixture
def world(store: Store, clock: MovableClock) -> World:
    """A repository `ada/engine` of the user `ada`."""
    return make_world(store, clock)
