"""The pause of a job that could not do all that is due, because another transaction holds it."""

import asyncio
from collections.abc import Awaitable, Callable

from store import Connection, Store

PAUSE = 1.0

Sleep = Callable[[float], Awaitable[None]]


async def pause_if_due(
    store: Store,
    next_due: Callable[[Connection], int | None],
    began: int,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Pause if something is left that was due at `began`, when the run began.

    Otherwise the job would run again at once, without end. For what has become due since, it does.
    """
    due = await store.read(next_due)
    if due is not None and due <= began:
        await sleep(PAUSE)
