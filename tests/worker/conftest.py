"""The event loop and the house of the worker's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from house import House


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def house(anyio_backend: str, url: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house whose worker, if it has one at the end, must leave nothing leased."""
    house = House(tmp_path, url=url)
    yield house
    await house.close()
