"""Fixtures for tests that run tocsin as real processes on a temporary data directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from daemon import Site


@pytest.fixture
async def site(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Site]:
    site = Site(tmp_path / "data")
    yield site
    await site.close()
