"""The event loop of the tests of senders: uvloop, as in the daemon. A few tests use both loops."""

from typing import Any

import pytest


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": True}
