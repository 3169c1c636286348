"""Work in the folder of an import that a stop or a cancellation does not interrupt.

Without it, the folder might be removed while a thread still works in it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def finished(work: Awaitable[T]) -> T:
    """Wait until the work has ended, and return its result.

    If the caller is cancelled meanwhile, CancelledError is raised afterwards.
    """
    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return future.result()
    if not future.cancelled():
        # asyncio would log an error that is never asked for.
        future.exception()
    raise cancelled


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread, and wait until it has ended, even if the caller is cancelled."""
    loop = asyncio.get_running_loop()
    return await finished(loop.run_in_executor(None, lambda: function(*args, **kwargs)))
