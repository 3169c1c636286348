"""A store on a real database, a clock that stands still, and a little world in the store."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from engines import furnish
from store_world import START, World, make_world

from store import Store, open_store
from store.clock import MovableClock

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
        furnish(url, tmp_path / "data")
        stores.append(open_store(url, data_dir=tmp_path / "data", clock=clock))
        return stores[-1]

    yield open_one
    for store in stores:
        await store.close()


@pytest.fixture
def store(opened: Opened) -> Iterator[Store]:
    store = opened()
    # As beside a running daemon: the last connection to close tidies up, which takes long.
    daemon = store.engine.session()
    yield store
    daemon.close()


@pytest.fixture
def world(store: Store, clock: MovableClock) -> World:
    """A repository `ada/engine` of the user `ada`."""
    return make_world(store, clock)
