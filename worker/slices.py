"""Long loops on the event loop, in slices between which it does other work."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# So many items take about a millisecond.
SLICE = 1_000


async def in_slices(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """Yield the items in lists. Nothing else may change `items` meanwhile."""
    iterator = iter(items)
    while chunk := list(islice(iterator, SLICE)):
        yield chunk
        if len(chunk) == SLICE:
            await asyncio.sleep(0)
