"""The event loop and the house of the worker's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from worker_harness import WorkerHarness


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def harness(anyio_backend: str, url: str, tmp_path: Path) -> AsyncIterator[WorkerHarness]:
    """A house whose worker, if it has one at the end, must leave nothing leased."""
    harness = WorkerHarness(tmp_path, url=url)
    yield harness
    await harness.close()
