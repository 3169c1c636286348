"""Batched reads from the store.

Keys that are requested during a read are read together afterwards, because a round trip to a server
costs more than the rows.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from store import Connection, Store

T = TypeVar("T")
MAX_BATCH = 64


class BatchLoader(Generic[T]):
    """A loader of items by their ids.

    `read` may leave out some of the ids, but not the first. If they were asked for, they are read
    again. `keep` is called with the items of each read.
    """

    def __init__(
        self,
        store: Store,
        read: Callable[[Connection, list[int]], dict[int, T]],
        keep: Callable[[dict[int, T]], None],
    ) -> None:
        self._store = store
        self._read = read
        self._keep = keep
        self._requested: dict[int, asyncio.Future[T]] = {}
        self._task: asyncio.Task[None] | None = None

    async def get(self, key: int, ahead: Iterable[int] = ()) -> T:
        """Return the item with this id. Raises the errors of `Store.read`.

        If the engine reads inline, items `ahead` are read with it, for `keep`.
        """
        if self._store.engine.inline:
            found = await self._store.read(self._read, [key, *ahead])
            self._keep(found)
            return found[key]
        future = self._requested.get(key)
        if future is None:
            future = self._requested[key] = asyncio.get_running_loop().create_future()
            if self._task is None:
                self._task = asyncio.create_task(self._run())
        # Several callers may wait for this item. If one is cancelled, the others must not be.
        return await asyncio.shield(future)

    async def _run(self) -> None:
        try:
            while self._requested:
                await self._load([*self._requested][:MAX_BATCH])
        finally:
            self._task = None

    async def _load(self, keys: list[int]) -> None:
        try:
            found = await self._store.read(self._read, keys)
        except Exception as error:  # every error is passed to the callers
            for key in keys:
                _settle(self._requested.pop(key), error)
            return
        self._keep(found)
        for key, value in found.items():
            _settle(self._requested.pop(key), value)


def _settle(future: asyncio.Future[T], answer: T | Exception) -> None:
    if isinstance(answer, Exception):
        future.set_exception(answer)
        # Mark the error as retrieved: the caller may have been cancelled by now.
        future.exception()
    else:
        future.set_result(answer)
