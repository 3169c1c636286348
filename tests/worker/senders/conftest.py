"""Both event loops, because a sender process uses the one of its worker."""

from typing import Any

import pytest


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}
