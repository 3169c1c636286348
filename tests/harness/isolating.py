"""A working directory for a test, without settings from the environment."""

import os
from pathlib import Path

import pytest


def isolate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder the working and the data directory, and remove all variables of the project.

    Return the folder.
    """
    for name in [name for name in os.environ if name.startswith("TOCSIN_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(folder))
    return folder
