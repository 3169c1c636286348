"""Datagrams that notify a worker in another process of new work in a SQLite database."""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from store_world import World
from waiting import PATIENCE

from store import Store, open_store
from store.database.notifications import LONGEST_PATH, MOST_HOOKS, worker_socket_path


@pytest.fixture
def url() -> str:
    return "sqlite"


@pytest.fixture
async def heard(store: Store) -> AsyncIterator[asyncio.Queue[list[int]]]:
    """The wake-ups that the worker's process receives: lists of hook ids."""
    queue: asyncio.Queue[list[int]] = asyncio.Queue()
    deaf = await store.listen(queue.put_nowait)
    yield queue
    deaf()


async def notified(heard: asyncio.Queue[list[int]]) -> list[int]:
    async with asyncio.timeout(PATIENCE):
        return await heard.get()


async def test_a_worker_hears_of_other_processes_hooks(
    world: World, opened: Callable[[], Store], heard: asyncio.Queue[list[int]]
) -> None:
    hook = world.hook("push")["id"]
    other = opened()
    other.notifier.wake([3, 1, 2])
    assert await notified(heard) == [3, 1, 2]
    world.store = other
    world.arrive()
    assert await notified(heard) == [hook]


async def test_a_notification_of_too_many_hooks_names_none(
    store: Store, heard: asyncio.Queue[list[int]]
) -> None:
    store.notifier.wake(range(1, MOST_HOOKS + 1))
    assert await notified(heard) == list(range(1, MOST_HOOKS + 1))
    store.notifier.wake(range(MOST_HOOKS + 1))
    assert await notified(heard) == []


async def test_a_missing_worker_is_no_error(store: Store) -> None:
    store.notifier.wake([1])
    assert store.notifier.lease() is None
    assert list(store.notifier.full()) == []


async def test_more_than_the_worker_can_hear_is_no_error(
    store: Store, heard: asyncio.Queue[list[int]]
) -> None:
    for hook in range(1000):
        store.notifier.wake([hook])
    assert await notified(heard) == [0]


async def test_wrong_datagrams_are_ignored(
    store: Store, tmp_path: Path, heard: asyncio.Queue[list[int]]
) -> None:
    path = worker_socket_path(tmp_path / "data" / "tocsin.db")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for message in (b"", b"nonsense", b"7", b"null", b"[[[["):
            stranger.sendto(message, str(path))
    store.notifier.wake([9])
    assert await notified(heard) == [9]


async def test_a_worker_takes_the_place_of_one_that_crashed(store: Store, tmp_path: Path) -> None:
    path = worker_socket_path(tmp_path / "data" / "tocsin.db")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as crashed:
        crashed.bind(str(path))
    queue: asyncio.Queue[list[int]] = asyncio.Queue()
    deaf = await store.listen(queue.put_nowait)
    store.notifier.wake([1])
    assert await notified(queue) == [1]
    assert stat.S_ISSOCK(path.stat().st_mode)
    deaf()
    assert not path.exists()


async def test_a_long_path_is_no_hindrance(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    path = worker_socket_path(folder / "tocsin.db")
    assert len(str(path)) <= LONGEST_PATH
    assert path != worker_socket_path(folder / "other.db")
    store = open_store("sqlite", data_dir=folder)
    queue: asyncio.Queue[list[int]] = asyncio.Queue()
    deaf = await store.listen(queue.put_nowait)
    store.notifier.wake([1])
    assert await notified(queue) == [1]
    deaf()
    store.shut()
