"""Fixtures that the tests of the manual share."""

from pathlib import Path

import pytest
from isolating import isolate


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working and data directory of a test, without settings from the environment."""
    return isolate(tmp_path, monkeypatch)
