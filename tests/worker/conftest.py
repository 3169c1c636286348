"""The event loop and the harness of the worker's tests."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from worker_harness import WorkerHarness


@pytest.fixture
async def harness(anyio_backend: str, url: str, tmp_path: Path) -> AsyncIterator[WorkerHarness]:
    """A harness that stops its worker after the test and checks that no delivery is leased."""
    harness = WorkerHarness(tmp_path, url=url)
    yield harness
    await harness.close()


@pytest.fixture
def strict_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts for clients are as strict as Python makes them since version 3.13."""
    ordinary = ssl.create_default_context

    def strict(*given: Any, **named: Any) -> ssl.SSLContext:
        made = ordinary(*given, **named)
        made.verify_flags |= ssl.VERIFY_X509_STRICT
        return made

    monkeypatch.setattr(ssl, "create_default_context", strict)
