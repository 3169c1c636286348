"""Background tasks, which run until they end or their owner stops."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from worker.loop_bound import LoopBound


class BackgroundTasks(LoopBound):
    """Tasks in the background, with references that keep them from being garbage-collected.

    `on_end` is called when one has ended.
    """

    def __init__(self, on_end: Callable[[], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_end = on_end

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the background."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard if self._on_end is None else self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._on_end is not None:
            self._on_end()

    def cancel(self) -> None:
        """Cancel all tasks, without waiting."""
        for task in self._tasks:
            task.cancel()

    async def stop(self, seconds: float = 0.0) -> None:
        """Wait up to `seconds` for the tasks. Then cancel the rest, and wait until they have
        ended.
        """
        if self._tasks and seconds > 0:
            await asyncio.wait(self._tasks, timeout=seconds)
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
