"""The event loop and the harness of the worker's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from worker_harness import WorkerHarness


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def harness(anyio_backend: str, url: str, tmp_path: Path) -> AsyncIterator[WorkerHarness]:
    """A harness that stops its worker after the test and checks that no delivery is leased."""
    harness = WorkerHarness(tmp_path, url=url)
    yield harness
    await harness.close()
